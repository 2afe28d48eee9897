"""Node pools: groups of identical nodes that scale together."""

from typing import Annotated, Literal

from pydantic import Field

from mlcluster.catalog.gpus import MIG_DISABLED
from mlcluster.spec.base import BY_SHAPE, LIST, RESOURCE_NAME, WORD, Count, Doc, Name, Quantity, SpecModel, ZoneName

LabelKey = Annotated[str, Field(min_length=1, max_length=317)]
LabelValue = Annotated[str, Field(max_length=63, pattern=r"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$")]
Labels = Annotated[dict[LabelKey, LabelValue], Field(max_length=64)]
ResourceCounts = dict[Annotated[str, Field(pattern=RESOURCE_NAME)], Annotated[int, Field(ge=1, le=1000)]]
"""Extended resources and how many of each a node offers."""


class Taint(SpecModel):
    """A taint on every node of the pool."""

    key: Annotated[LabelKey, Doc(example="dedicated")]
    """Key of the taint."""
    value: Annotated[LabelValue, Doc(example="training")] = ""
    """Value of the taint."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
    """Effect on pods that do not tolerate the taint. `NoExecute` also evicts running pods."""


InstanceTypeName = Annotated[str, Field(pattern=r"^[a-z0-9-]+\.[a-z0-9-]+$")]
Instant = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2})?Z$")]


class Capacity(SpecModel):
    """How the EC2 instances of the pool are purchased."""

    type: Literal["onDemand", "spot", "reservation", "capacityBlock"] = "onDemand"
    """Purchase option: On-Demand, Spot, an On-Demand Capacity Reservation or a Capacity Block for ML. Targets other
    than `eks` support only `onDemand`."""
    reservation_id: Annotated[
        Annotated[str, Field(pattern=r"^cr-[0-9a-z]+$")] | None, Doc(example="cr-0123456789abcdef0", targets=("eks",))
    ] = None
    """ID of the Capacity Reservation or Capacity Block. Required with `type: reservation` and `type: capacityBlock`."""
    also: Annotated[list[InstanceTypeName], Field(max_length=19), Doc(example=["g6.4xlarge"], targets=("eks",))] = []
    """Alternative instance types for `type: spot`. Each needs the architecture and GPUs of `instanceType`, and at
    least the resources that it offers."""
    starts_at: Annotated[Instant | None, Doc(example="2026-12-01T11:30:00Z", targets=("eks",))] = None
    """Start of the Capacity Block in UTC, for `type: capacityBlock`. Required with `autoscaler: none`."""
    ends_at: Annotated[Instant | None, Doc(example="2026-12-15T11:30:00Z", targets=("eks",))] = None
    """End of the Capacity Block in UTC, for `type: capacityBlock`. The nodes are removed 30 minutes before the end."""


class PoolNetwork(SpecModel):
    """High-performance network interfaces of the nodes."""

    efa: bool = False
    """Attach every EFA interface of the instance type; nodes offer them as the resource `vpc.amazonaws.com/efa`."""
    placement_group: Annotated[Literal["none", "cluster"], Doc(targets=("eks", "local"))] = "none"
    """Launch the nodes in a cluster placement group of EC2, which puts them close together in one zone."""
    rdma: Annotated[ResourceCounts, Doc(example={"rdma/hca": 8}, key="RESOURCE", targets=("existing", "local"))] = {}
    """RDMA resources that each node offers, with the number of pods that can share the devices."""
    sriov: Annotated[
        ResourceCounts, Doc(example={"nvidia.com/mlnx_vf": 8}, key="RESOURCE", targets=("existing", "local"))
    ] = {}
    """SR-IOV resources that each node offers, with the number of virtual functions."""


class TimeSlicing(SpecModel):
    """GPU time-slicing: pods take turns on a GPU, without memory isolation."""

    replicas: Annotated[int, Field(ge=2, le=48), Doc(example=4, unit="pods")]
    """Number of pods that share each physical GPU."""


class Mps(SpecModel):
    """NVIDIA Multi-Process Service: pods run on a GPU at once, each with a fraction of its memory and threads."""

    replicas: Annotated[int, Field(ge=2, le=48), Doc(example=2, unit="pods")]
    """Number of pods that share each physical GPU."""


MigLayout = Annotated[str, Field(pattern=r"^all-(disabled|balanced|[0-9]+g\.[0-9]+gb([.-][a-z]+)*)$", max_length=40)]
ImageDuty = Literal["driver", "toolkit", "devicePlugin", "migManager"]


class PoolGpu(SpecModel):
    """GPU sharing, and the accelerator taint."""

    mig: Annotated[MigLayout | None, Doc(example="all-1g.10gb")] = None
    """MIG layout of every GPU, by its name in mig-parted, such as `all-1g.5gb`, `all-balanced` or `all-disabled`."""
    time_slicing: TimeSlicing | None = None
    """Share each GPU by time-slicing. Choose one of `mig`, `timeSlicing` and `mps`."""
    mps: Mps | None = None
    """Share each GPU with MPS. Choose one of `mig`, `timeSlicing` and `mps`."""
    taint: Annotated[bool, Doc(targets=("eks", "local"))] = True
    """Put the taint `nvidia.com/gpu` on GPU nodes, so that only pods that request GPUs are scheduled there."""
    image_brings: Annotated[
        list[ImageDuty], Field(max_length=4), Doc(example=["driver", "toolkit"], targets=("existing", "local"))
    ] = []
    """GPU software that the node image already contains, so that the GPU operator does not install it. On `eks`,
    mlcluster knows the images."""

    @property
    def partitioned(self) -> bool:
        """Return whether MIG partitions the GPUs."""
        return self.mig is not None and self.mig != MIG_DISABLED

    @property
    def replicas(self) -> int:
        """Return the number of pods that share one physical GPU by time-slicing or MPS; 1 without sharing."""
        sharing = self.time_slicing or self.mps
        return sharing.replicas if sharing else 1


class NodeShapeGpu(SpecModel):
    """The GPUs of one node."""

    model: Annotated[str, Field(pattern=r"^[a-z0-9][-a-z0-9]*$", max_length=40), Doc(example="h100")]
    """GPU model in lower case."""
    count: Annotated[int, Field(ge=1, le=72), Doc(example=8, unit="GPUs")]
    """Number of GPUs per node."""
    memory_mib: Annotated[
        Annotated[int, Field(ge=1024, le=1_000_000)] | None, Doc(example=81920, unit="MiB", default="unknown")
    ] = None
    """Memory of one GPU. It identifies the variant of a model, which determines its MIG layouts."""


class NodeShape(SpecModel):
    """Allocatable resources of one node, for machines that are not EC2 instances."""

    cpu: Annotated[Quantity, Doc(example="190", unit="cores")]
    """Allocatable CPU of one node, as a quoted quantity."""
    memory: Annotated[Quantity, Doc(example="1900Gi", unit="bytes")]
    """Allocatable memory of one node."""
    ephemeral_storage: Annotated[Quantity, Doc(example="800Gi", unit="bytes")] = "50Gi"
    """Allocatable ephemeral storage of one node."""
    pods: Annotated[int, Field(ge=1, le=1000), Doc(example=250, unit="pods")] = 110
    """Maximum number of pods on one node."""
    gpu: NodeShapeGpu | None = None
    """GPUs of one node. Omit it for nodes without GPUs."""
    hourly_usd: Annotated[
        Annotated[float, Field(ge=0)] | None, Doc(example=55.04, unit="USD per hour", default="unknown")
    ] = None
    """Price of one node, for the cost estimate and the budget."""


class Reserved(SpecModel):
    """Resources per node that mlcluster subtracts for daemon sets it does not manage."""

    cpu: Annotated[Quantity, Doc(example="500m", unit="cores")] = "0"
    """CPU to reserve on each node."""
    memory: Annotated[Quantity, Doc(example="1Gi", unit="bytes")] = "0"
    """Memory to reserve on each node."""
    ephemeral_storage: Annotated[Quantity, Doc(example="5Gi", unit="bytes")] = "0"
    """Ephemeral storage to reserve on each node."""
    pods: Annotated[int, Field(ge=0, le=500), Doc(example=3, unit="pods")] = 0
    """Number of pods to reserve on each node."""


class Ami(SpecModel):
    """The machine image of the nodes."""

    family: Literal["al2023", "bottlerocket", "al2"] = "al2023"
    """Operating system: Amazon Linux 2023 or Bottlerocket. `al2` is rejected, because EKS no longer publishes it."""
    release: Annotated[
        Annotated[str, Field(min_length=1, max_length=60)] | None,
        Doc(example="1.35.3-20260818", default="the release that the catalog pins for the Kubernetes version"),
    ] = None
    """Release of the EKS-optimized image."""


class RootVolume(SpecModel):
    """The encrypted gp3 volume that a node boots from."""

    size: Annotated[Quantity, Doc(example="200Gi", unit="bytes")] = "100Gi"
    """Size of the volume, from 20Gi to 64Ti."""
    iops: Annotated[
        Annotated[int, Field(ge=3000, le=80_000)] | None, Doc(example=6000, unit="IOPS", default="3000, set by AWS")
    ] = None
    """Provisioned I/O operations per second, at most 500 per GiB of `size`."""
    throughput_mib: Annotated[
        Annotated[int, Field(ge=125, le=2000)] | None, Doc(example=500, unit="MiB/s", default="125, set by AWS")
    ] = None
    """Provisioned throughput, at most 0.25 MiB/s per provisioned IOPS."""


class Update(SpecModel):
    """The number of nodes that a rolling update of the managed node group replaces at once."""

    max_unavailable: Annotated[
        Annotated[int, Field(ge=1, le=100)] | None, Doc(example=2, unit="nodes", default="1")
    ] = None
    """Number of nodes that can be unavailable at once. Choose this or `maxUnavailablePercent`."""
    max_unavailable_percent: Annotated[Annotated[int, Field(ge=1, le=100)] | None, Doc(example=25, unit="percent")] = (
        None
    )
    """Percentage of nodes that can be unavailable at once. Choose this or `maxUnavailable`."""


class Warm(SpecModel):
    """Spare running nodes, which placeholder pods occupy until workloads need them."""

    nodes: Annotated[int, Field(ge=1, le=100), Doc(example=1, unit="nodes")]
    """Number of spare nodes. Their placeholder pods have the lowest priority, and any workload preempts them."""


class WarmPool(SpecModel):
    """A warm pool of the EC2 Auto Scaling group: pre-initialized instances that join the cluster faster."""

    min_size: Annotated[int, Field(ge=0, le=1000), Doc(example=1, unit="instances")] = 0
    """Minimum number of instances in the warm pool."""
    max_prepared: Annotated[
        Annotated[int, Field(ge=0, le=1000)] | None,
        Doc(example=4, unit="instances", default="the `maxSize` of the node pool"),
    ] = None
    """Maximum number of instances in the warm pool and in service together."""
    state: Literal["stopped", "running", "hibernated"] = "stopped"
    """State of the instances in the warm pool. `hibernated` is rejected, because EKS launch templates do not support
    it."""
    reuse_on_scale_in: bool = True
    """Return instances to the warm pool on scale-in instead of terminating them. Not available with Bottlerocket."""


class ApplyToNodes(SpecModel):
    """Whether mlcluster writes the labels and taints of the pool to the existing nodes."""

    labels: bool = False
    """Add `labels`, and the labels that components need, to the nodes. `mlcluster down` removes them."""
    taints: bool = False
    """Add `taints` to the nodes and keep the taints of other tools. `mlcluster down` removes them. With `false`, the
    nodes must already have the taints."""


Topology = Annotated[
    Annotated[Literal["none", "auto"], WORD]
    | Annotated[Annotated[list[LabelKey], Field(min_length=1, max_length=16)], LIST],
    BY_SHAPE,
]


class NodePool(SpecModel):
    """A group of identical nodes that scale together."""

    name: Annotated[Name, Doc(example="train")]
    """Name of the pool and, unless it is `systemOnly`, of its Kueue ResourceFlavor. Teams refer to the pool by it."""
    instance_type: Annotated[InstanceTypeName | None, Doc(example="p5.48xlarge")] = None
    """EC2 instance type of the nodes. Choose this or `nodeShape`; `eks` requires this."""
    node_shape: Annotated[NodeShape | None, Doc(targets=("existing", "local"))] = None
    """Resources of nodes that are not EC2 instances. Choose this or `instanceType`."""
    min_size: Annotated[Count, Doc(example=2, unit="nodes")] = 0
    """Minimum number of nodes."""
    max_size: Annotated[int, Field(ge=1, le=5000), Doc(example=8, unit="nodes")]
    """Maximum number of nodes. Quotas are calculated at this size."""
    labels: Annotated[Labels, Doc(example={"ml-purpose": "training"}, key="LABEL")] = {}
    """Labels of every node in the pool."""
    taints: Annotated[
        list[Taint],
        Field(max_length=32),
        Doc(example=[{"key": "dedicated", "value": "training", "effect": "NoSchedule"}]),
    ] = []
    """Taints of every node in the pool. The pods of workloads that Kueue admits to the pool tolerate them."""
    system_only: bool = False
    """Reserve the pool for components: teams get no quota of it, and all controllers run on such pools. On `eks` and
    `local`, the nodes get the taint `CriticalAddonsOnly`; on `existing`, list that taint under `taints`."""
    selector: Annotated[
        Annotated[Labels, Field(min_length=1)] | None,
        Doc(example={"node-role": "gpu"}, key="LABEL", targets=("existing",)),
    ] = None
    """Labels that identify the nodes of the pool. Required on `existing`; pools must not select the same node."""
    apply_to_nodes: Annotated[ApplyToNodes, Doc(targets=("existing",))] = Field(default_factory=ApplyToNodes)
    """Whether mlcluster writes `labels` and `taints` to the existing nodes."""
    capacity: Capacity = Field(default_factory=Capacity)
    """Purchase option of the EC2 instances: On-Demand, Spot, a reservation or a Capacity Block."""
    network: PoolNetwork = Field(default_factory=PoolNetwork)
    """High-performance network interfaces of the nodes: EFA, RDMA, SR-IOV."""
    gpu: PoolGpu = Field(default_factory=PoolGpu)
    """GPU sharing, and the accelerator taint."""
    reserved: Reserved = Field(default_factory=Reserved)
    """Resources per node to subtract for daemon sets that mlcluster does not manage."""
    zones: Annotated[
        list[ZoneName],
        Field(max_length=6),
        Doc(
            example=["us-west-2b"],
            default="every zone of the cluster; one zone with EFA or a placement group",
            targets=("eks",),
        ),
    ] = []
    """Availability zones of the nodes."""
    startup_taints: Annotated[
        list[Taint],
        Field(max_length=16),
        Doc(example=[{"key": "node.cilium.io/agent-not-ready", "effect": "NoExecute"}], targets=("eks",)),
    ] = []
    """Taints of new nodes that another controller removes when the node is ready. Quotas and pods ignore them."""
    ami: Annotated[Ami, Doc(targets=("eks",))] = Field(default_factory=Ami)
    """Machine image of the nodes."""
    root_volume: Annotated[RootVolume, Doc(targets=("eks",))] = Field(default_factory=RootVolume)
    """Size and performance of the encrypted gp3 root volume."""
    hugepages_2mi: Annotated[
        int,
        Field(ge=0, le=1_000_000, alias="hugepages2Mi"),
        Doc(example=5128, unit="pages of 2 MiB", default="5128 with EFA, otherwise 0", targets=("eks",)),
    ] = 0
    """Number of huge pages that each node allocates at boot."""
    update: Annotated[Update, Doc(targets=("eks",))] = Field(default_factory=Update)
    """Number of nodes that a rolling update replaces at once."""
    repair: Annotated[bool, Doc(targets=("eks",))] = True
    """Let EKS node auto repair replace unhealthy nodes."""
    warm: Annotated[Warm | None, Doc(targets=("eks",))] = None
    """Keep spare nodes running for faster starts. Needs an autoscaler."""
    warm_pool: Annotated[WarmPool | None, Doc(targets=("eks",))] = None
    """Keep pre-initialized EC2 instances in a warm pool. Not available with Karpenter, Spot or Capacity Blocks."""
    topology: Annotated[Topology, Doc(example=["topology.example.com/rack", "kubernetes.io/hostname"])] = "none"
    """Topology levels for Kueue's topology-aware scheduling, which packs the pods of a job close together. `auto` uses
    the levels that the target provides and is not available on `existing`; a list names node labels, from the widest
    level to the narrowest."""
