"""Node pools, with the facts of their nodes: accelerators, taints, prices, and what pods can request."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from mlcluster.spec.document import Loc

Amounts = Mapping[str, int]
"""Amounts by resource name, in the unit that `quantities.unit` gives the name."""


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint as nodes and flavors carry it."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class Toleration:
    """A toleration of a pod, with the API's defaults; `plan.taints` says what it matches and how it is written.

    Attributes:
        key: "" with `Exists` matches every key.
        value: compared with that of the taint where the operator is `Equal`.
        effect: "" matches every effect.
    """

    key: str = ""
    operator: Literal["Equal", "Exists"] = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True)
class Price:
    """What one node costs: USD per hour on demand, for a region, on a date (YYYY-MM-DD); both "" when the spec says."""

    usd_per_hour: float
    region: str
    date: str
    exact: bool
    """False where the price is the list price of another region."""


@dataclass(frozen=True, slots=True)
class Accelerator:
    """The accelerators of one node.

    Attributes:
        model: e.g. "h100".
        gpus: physical devices per node.
        memory_mib: memory per device, MiB; None when unknown.
        resource: what pods request, e.g. nvidia.com/gpu or nvidia.com/mig-1g.5gb; the first of `shares`.
        slices: how many of all `shares` a node offers.
        sharing: how devices become slices.
        shares: everything that pods can request of them -> how many of it a node offers.
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
        labels: every label that mlcluster or its nodes carry because of the pool.
        selector: the labels by which its nodes are found; the flavor's nodeLabels.
        taints: every taint of its nodes, the accelerator taint among them.
        allocatable: what pods can use on one node.
        reserved: of one node, what the spec keeps back.
        overhead: of one node, what daemon sets request and the spec keeps back.
        usable: allocatable less the overhead, per node.
        system_only: teams have nothing of the pool.
        controllers: of all nodes at the maximum size, what the pods of controllers may take.
        node_share: usable less what controllers may take of one node: what `nodes: 1` of a team is.
        price: None when unknown.
        also: other instance types that a spot pool may get.
        reservation_id: of the capacity reservation or block, "" without one.
        starts_at: of a capacity block, UTC as the spec has it; "" when it does not say.
        ends_at: likewise; its nodes go half an hour before.
        default_containers: by resource how many containers with the default requests fit on one node, fewest first.
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
        """The resource that a node runs out of first when it fills with containers of the default requests."""
        return next(iter(self.default_containers), "")

    @property
    def capacity(self) -> dict[str, int]:
        """What teams can have of the pool at its maximum size: nodes x usable - controllers, for every resource."""
        return {name: amount * self.max_size - self.controllers.get(name, 0) for name, amount in self.usable.items()}

    @property
    def usd_per_hour_at_min(self) -> float | None:
        """USD per hour of `min_size` nodes."""
        return None if self.price is None else round(self.price.usd_per_hour * self.min_size, 2)

    @property
    def usd_per_hour_at_max(self) -> float | None:
        """USD per hour of `max_size` nodes."""
        return None if self.price is None else round(self.price.usd_per_hour * self.max_size, 2)
