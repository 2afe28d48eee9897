"""Node pools: groups of identical nodes that scale together, with their labels, taints and networks."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

from pydantic import Field

from mlcluster.spec.base import BY_SHAPE, LIST, RESOURCE_NAME, WORD, Count, Doc, Name, SpecModel, ZoneName
from mlcluster.spec.ec2_pools import Ami, Capacity, InstanceTypeName, RootVolume, Update, Warm, WarmPool
from mlcluster.spec.gpu_sharing import PoolGpu
from mlcluster.spec.node_shapes import NodeShape, Reserved

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

    @property
    def needs_one_zone(self) -> bool:
        """Return whether all nodes must be in one zone: for EFA, and in a cluster placement group."""
        return self.efa or self.placement_group == "cluster"


class ApplyToNodes(SpecModel):
    """Whether mlcluster writes the labels and taints of the pool to the existing nodes."""

    labels: bool = False
    """Add `labels`, and the labels that components need, to the nodes. `mlcluster down` removes them."""
    taints: bool = False
    """Add `taints` to the nodes and keep the taints of other tools. `mlcluster down` removes them. With `false`, the
    nodes must already have the taints."""


HOSTNAME = "kubernetes.io/hostname"
"""The label of the narrowest topology level: single nodes."""

Topology = Annotated[
    Annotated[Literal["none", "auto"], WORD]
    | Annotated[Annotated[list[LabelKey], Field(min_length=1, max_length=16)], LIST],
    BY_SHAPE,
]


def common_labels(selectors: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return the labels that every selector has, by key; {} without selectors."""
    items = [set(selector.items()) for selector in selectors]
    return dict(sorted(items[0].intersection(*items))) if items else {}


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

    @property
    def fixed_size(self) -> bool:
        """Return whether the pool always has the same number of nodes."""
        return self.min_size == self.max_size
