"""Node pools, with the facts of their nodes: accelerators, taints, prices, and what pods can request."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from mlcluster.spec.document import Loc

Amounts = Mapping[str, int]
"""Amounts by resource name, in the unit that `quantities.unit` gives the name."""


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of nodes and flavors."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class Toleration:
    """A toleration of a pod, with the defaults of the API; `plan.taints` matches and writes it.

    Attributes:
        key: "" with `Exists` matches every key.
        value: compared with the value of the taint if the operator is `Equal`.
        effect: "" matches every effect.
    """

    key: str = ""
    operator: Literal["Equal", "Exists"] = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a node: USD per hour on demand.

    Attributes:
        region: whose list price it is; "" for a price of the spec.
        date: of the list price, YYYY-MM-DD; "" for a price of the spec.
        exact: the price is that of the cluster's region.
    """

    usd_per_hour: float
    region: str
    date: str
    exact: bool


@dataclass(frozen=True, slots=True)
class Accelerator:
    """The accelerators of one node.

    Attributes:
        model: e.g. "h100".
        gpus: physical devices per node.
        memory_mib: memory per device, MiB; None if unknown.
        resource: the resource that pods request, e.g. nvidia.com/gpu or nvidia.com/mig-1g.5gb; the first of `shares`.
        slices: the sum of `shares`.
        sharing: how devices are divided into slices.
        shares: each resource that pods can request -> how many of it a node has.
    """

    model: str
    gpus: int
    memory_mib: int | None
    resource: str
    slices: int
    sharing: Literal["whole", "mig", "timeSlicing", "mps"]
    shares: Amounts


@dataclass(frozen=True, slots=True)
class Pool:
    """A node pool with its instance facts resolved.

    Attributes:
        labels: every label of its nodes that comes with the pool.
        selector: the labels that identify its nodes; the nodeLabels of its flavor.
        taints: every taint of its nodes, including the accelerator taint.
        allocatable: the amounts of one node that pods can use.
        reserved: the amounts of one node that the spec reserves.
        overhead: the amounts of one node that daemon sets request or the spec reserves.
        usable: allocatable less the overhead, per node.
        system_only: teams have no quota of the pool.
        controllers: the amounts that the pods of controllers may take of all nodes, at the maximum size.
        node_share: usable less the amounts that controllers may take of one node; `nodes: 1` of a team guarantees it.
        price: None if unknown.
        also: other instance types for a spot pool.
        reservation_id: of the capacity reservation or block; "" without one.
        starts_at: of a capacity block, UTC as the spec has it; "" if the spec has none.
        ends_at: likewise; EKS terminates its nodes half an hour before.
        default_containers: resource -> how many containers with the default requests fit on one node, fewest first.
    """

    name: str
    instance_type: str
    arch: str
    min_size: int
    max_size: int
    labels: Mapping[str, str]
    selector: Mapping[str, str]
    taints: tuple[Taint, ...]
    allocatable: Amounts
    overhead: Amounts
    usable: Amounts
    accelerator: Accelerator | None
    capacity_type: str
    placement_group: str
    price: Price | None
    spec_path: Loc
    also: tuple[str, ...] = ()
    reservation_id: str = ""
    starts_at: str = ""
    ends_at: str = ""
    default_containers: Amounts = field(default_factory=dict)
    system_only: bool = False
    reserved: Amounts = field(default_factory=dict)
    controllers: Amounts = field(default_factory=dict)
    node_share: Amounts = field(default_factory=dict)

    @property
    def first_bound(self) -> str:
        """The resource that limits the number of containers with the default requests on a node."""
        return next(iter(self.default_containers), "")

    @property
    def capacity(self) -> dict[str, int]:
        """The amounts for teams at the maximum size: nodes x usable - controllers, for every resource."""
        return {name: amount * self.max_size - self.controllers.get(name, 0) for name, amount in self.usable.items()}

    @property
    def usd_per_hour_at_min(self) -> float | None:
        """USD per hour of `min_size` nodes."""
        return None if self.price is None else round(self.price.usd_per_hour * self.min_size, 2)

    @property
    def usd_per_hour_at_max(self) -> float | None:
        """USD per hour of `max_size` nodes."""
        return None if self.price is None else round(self.price.usd_per_hour * self.max_size, 2)
