"""Node pools: nodes of one shape that scale together."""

from typing import Annotated, Literal

from pydantic import Field

from mlcluster.catalog.gpus import MIG_DISABLED
from mlcluster.spec.base import BY_SHAPE, LIST, RESOURCE_NAME, WORD, Count, Name, Quantity, SpecModel, ZoneName

LabelKey = Annotated[str, Field(min_length=1, max_length=317)]
LabelValue = Annotated[str, Field(max_length=63, pattern=r"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$")]
Labels = Annotated[dict[LabelKey, LabelValue], Field(max_length=64)]


class Taint(SpecModel):
    """A taint on every node of the pool."""

    key: LabelKey
    value: LabelValue = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


InstanceTypeName = Annotated[str, Field(pattern=r"^[a-z0-9-]+\.[a-z0-9-]+$")]
Instant = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2})?Z$")]


class Capacity(SpecModel):
    """How the nodes are bought."""

    type: Literal["onDemand", "spot", "reservation", "capacityBlock"] = "onDemand"
    reservation_id: Annotated[str, Field(pattern=r"^cr-[0-9a-z]+$")] | None = None
    """ID of the capacity reservation or capacity block."""
    also: Annotated[list[InstanceTypeName], Field(max_length=19)] = []
    """spot: other instance types that will do; each must offer what instanceType offers."""
    starts_at: Instant | None = None
    """capacityBlock: when it begins, UTC, e.g. "2026-12-01T11:30:00Z"."""
    ends_at: Instant | None = None
    """capacityBlock: when it ends; its nodes go half an hour before."""


class PoolNetwork(SpecModel):
    """Fast networks of the nodes."""

    efa: bool = False
    """All EFA interfaces of the instance type, as resource vpc.amazonaws.com/efa."""
    placement_group: Literal["none", "cluster"] = "none"
    rdma: dict[Annotated[str, Field(pattern=RESOURCE_NAME)], Annotated[int, Field(ge=1, le=1000)]] = {}
    """RDMA resources and how many a node offers, e.g. {rdma/hca: 8}."""
    sriov: dict[Annotated[str, Field(pattern=RESOURCE_NAME)], Annotated[int, Field(ge=1, le=1000)]] = {}
    """Virtual functions by resource and how many a node offers, e.g. {nvidia.com/mlnx_vf: 8}."""


class TimeSlicing(SpecModel):
    """Several pods share a GPU in time, without memory isolation."""

    replicas: Annotated[int, Field(ge=2, le=48)]
    """Pods per physical GPU."""


class Mps(SpecModel):
    """Several pods run on a GPU at once, each with its part of the memory and the threads (NVIDIA MPS)."""

    replicas: Annotated[int, Field(ge=2, le=48)]
    """Pods per physical GPU."""


MigLayout = Annotated[str, Field(pattern=r"^all-(disabled|balanced|[0-9]+g\.[0-9]+gb([.-][a-z]+)*)$", max_length=40)]
ImageDuty = Literal["driver", "toolkit", "devicePlugin", "migManager"]


class PoolGpu(SpecModel):
    """How the GPUs of a pool are shared, and whether the nodes are tainted."""

    mig: MigLayout | None = None
    """MIG layout of every GPU, as mig-parted names them, e.g. all-1g.5gb, all-1g.5gb.me, all-balanced, all-disabled."""
    time_slicing: TimeSlicing | None = None
    mps: Mps | None = None
    taint: bool = True
    """Put the accelerator taint on the nodes, so that only GPU pods come here (not on `existing`)."""
    image_brings: Annotated[list[ImageDuty], Field(max_length=4)] = []
    """Not on `eks`, whose images are known: what the nodes have without the GPU operator, e.g. [driver, toolkit]."""

    @property
    def partitioned(self) -> bool:
        """Whether MIG cuts the GPUs."""
        return self.mig is not None and self.mig != MIG_DISABLED

    @property
    def replicas(self) -> int:
        """Pods that share one physical GPU by time slicing or MPS; 1 where they do not."""
        sharing = self.time_slicing or self.mps
        return sharing.replicas if sharing else 1


class NodeShapeGpu(SpecModel):
    """GPUs of a node that no catalogue knows."""

    model: Annotated[str, Field(pattern=r"^[a-z0-9][-a-z0-9]*$", max_length=40)]
    """GPU model in lower case, e.g. h100."""
    count: Annotated[int, Field(ge=1, le=72)]
    """GPUs of one node."""
    memory_mib: Annotated[int, Field(ge=1024, le=1_000_000)] | None = None
    """Memory of one GPU, MiB; tells variants of a model apart."""


class NodeShape(SpecModel):
    """Allocatable resources of one node, for machines that are not EC2 instance types."""

    cpu: Quantity
    """Allocatable CPU of one node, quoted: "190"."""
    memory: Quantity
    """Allocatable memory of one node, e.g. 1900Gi."""
    ephemeral_storage: Quantity = "50Gi"
    pods: Annotated[int, Field(ge=1, le=1000)] = 110
    gpu: NodeShapeGpu | None = None
    hourly_usd: Annotated[float, Field(ge=0)] | None = None
    """What a node costs, USD per hour; unknown when absent."""


class Reserved(SpecModel):
    """Kept back on every node for daemon sets that mlcluster does not know."""

    cpu: Quantity = "0"
    memory: Quantity = "0"
    ephemeral_storage: Quantity = "0"
    pods: Annotated[int, Field(ge=0, le=500)] = 0


class Ami(SpecModel):
    """The image of the nodes, on `eks`."""

    family: Literal["al2023", "bottlerocket", "al2"] = "al2023"
    release: Annotated[str, Field(min_length=1, max_length=60)] | None = None
    """Release of the EKS image; default: the catalogue's pin for the Kubernetes version."""


class RootVolume(SpecModel):
    """The encrypted gp3 volume that a node starts from, on `eks`."""

    size: Quantity = "100Gi"
    iops: Annotated[int, Field(ge=3000, le=80_000)] | None = None
    throughput_mib: Annotated[int, Field(ge=125, le=2000)] | None = None
    """MiB per second."""


class Update(SpecModel):
    """How many nodes may be away while the pool is updated, on `eks`."""

    max_unavailable: Annotated[int, Field(ge=1, le=100)] | None = None
    """Nodes; default: 1."""
    max_unavailable_percent: Annotated[int, Field(ge=1, le=100)] | None = None


class Warm(SpecModel):
    """Nodes that are kept free for whoever comes next, on `eks`."""

    nodes: Annotated[int, Field(ge=1, le=100)]
    """Nodes held by pods of the lowest priority, which real work displaces."""


class WarmPool(SpecModel):
    """Instances of EC2 that have booted before and wait, on `eks`."""

    min_size: Annotated[int, Field(ge=0, le=1000)] = 0
    max_prepared: Annotated[int, Field(ge=0, le=1000)] | None = None
    """Most instances, running ones included; default: the pool's maxSize."""
    state: Literal["stopped", "running", "hibernated"] = "stopped"
    reuse_on_scale_in: bool = True


class ApplyToNodes(SpecModel):
    """Which of the pool's labels and taints mlcluster puts on nodes that somebody else made, on `existing`."""

    labels: bool = False
    """Put `labels`, and those that components need, on the nodes; `down` takes them off."""
    taints: bool = False
    """Put `taints` on the nodes, beside those of others; `down` takes them off. Else they have them already."""


Topology = Annotated[
    Annotated[Literal["none", "auto"], WORD]
    | Annotated[Annotated[list[LabelKey], Field(min_length=1, max_length=16)], LIST],
    BY_SHAPE,
]


class NodePool(SpecModel):
    """Nodes of one shape that scale together."""

    name: Name
    """Name of the pool and of its flavor."""
    instance_type: Annotated[str, Field(pattern=r"^[a-z0-9-]+\.[a-z0-9-]+$")] | None = None
    """EC2 instance type; give this or nodeShape."""
    node_shape: NodeShape | None = None
    min_size: Count = 0
    """Fewest nodes."""
    max_size: Annotated[int, Field(ge=1, le=5000)]
    """Most nodes; quotas count at this size."""
    labels: Labels = {}
    """Labels of every node of the pool."""
    taints: Annotated[list[Taint], Field(max_length=32)] = []
    system_only: bool = False
    """Only components run here: no team has quota of the pool, controllers run on such pools alone, and the nodes have
    the taint CriticalAddonsOnly (on `existing` only where it is listed under taints)."""
    selector: Annotated[Labels, Field(min_length=1)] | None = None
    """Which nodes of an `existing` cluster belong to the pool."""
    apply_to_nodes: ApplyToNodes = Field(default_factory=ApplyToNodes)
    capacity: Capacity = Field(default_factory=Capacity)
    network: PoolNetwork = Field(default_factory=PoolNetwork)
    gpu: PoolGpu = Field(default_factory=PoolGpu)
    reserved: Reserved = Field(default_factory=Reserved)
    zones: Annotated[list[ZoneName], Field(max_length=6)] = []
    """On `eks`: zones of the nodes; default: every zone of the cluster, one with EFA or a placement group."""
    startup_taints: Annotated[list[Taint], Field(max_length=16)] = []
    """On `eks`: taints that somebody takes off when the node is ready; quotas and pods do not see them."""
    ami: Ami = Field(default_factory=Ami)
    root_volume: RootVolume = Field(default_factory=RootVolume)
    hugepages_2mi: Annotated[int, Field(ge=0, le=1_000_000, alias="hugepages2Mi")] = 0
    """On `eks`: pages of 2 MiB that a node sets aside at boot; default: 5128 with EFA, else 0."""
    update: Update = Field(default_factory=Update)
    repair: bool = True
    """On `eks`: AWS replaces nodes that are broken."""
    warm: Warm | None = None
    warm_pool: WarmPool | None = None
    topology: Topology = "none"
    """Kueue packs the pods of a gang close together: none, auto, or the node labels that say where a node stands."""
