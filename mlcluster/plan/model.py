"""The plan: the whole desired state as plain frozen data.

Amounts are `Mapping[resource name, int]` in the unit that `quantities.unit` gives the name: cpu in milli-CPU, memory
and ephemeral-storage in MiB, everything else in pieces. Nothing here holds a timestamp, a tool version or an absolute
path.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mlcluster.findings import Finding
from mlcluster.plan.immutable import immutable_fields
from mlcluster.spec.document import Loc
from mlcluster.spec.teams import GRACE_PERIOD_SECONDS

Amounts = Mapping[str, int]
Manifest = dict[str, Any]
ValuePath = tuple[str, ...]
"""The keys that lead to a value; a key may have dots, e.g. of an annotation."""

Realisation = Literal["helm", "process", "simulated", "present"]
"""How a component comes to be.

By Helm (or as objects of ours), as a host process of the lab, on the lab without its controller (only its pods are
simulated), or it is there already.
"""


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


@dataclass(frozen=True, slots=True)
class FlavorQuota:
    """A team's share of one pool; amounts cover every resource of the cluster's queues.

    Attributes:
        pool: name of the pool, which is the flavor's name too.
        nominal: guaranteed.
        borrowing: at most this much more; None: as much as the cohort has idle.
        lending: at most this much of the nominal may be used by others; None: all of it.
    """

    pool: str
    nominal: Amounts
    borrowing: Amounts | None
    lending: Amounts | None


@dataclass(frozen=True, slots=True)
class TeamPlan:
    """One team's place in the cluster.

    Attributes:
        limits: the hard limits of its ResourceQuota: key -> Kubernetes quantity.
        grace_period_seconds: the longest time that one of its pods may take to end.
    """

    name: str
    namespace: str
    cohort: str
    quotas: tuple[FlavorQuota, ...]
    tiers: tuple[str, ...]
    spec_path: Loc
    limits: Mapping[str, str] = field(default_factory=dict)
    grace_period_seconds: int = GRACE_PERIOD_SECONDS


@dataclass(frozen=True, slots=True)
class CohortPlan:
    """A cohort and what nobody in it is guaranteed: pool -> amounts, everybody's to borrow."""

    name: str
    remainder: Mapping[str, Amounts]
    spec_path: Loc


@dataclass(frozen=True, slots=True)
class Tier:
    """One priority level."""

    name: str
    value: int
    preempts_pods: bool
    description: str
    spec_path: Loc


@dataclass(frozen=True, slots=True)
class ComponentPlan:
    """A component, its version, and how it comes to be on this target.

    Attributes:
        releases: ids of its releases in the plan.
        objects: ids of its objects in the plan, with those that stand in for it on `local`.
    """

    name: str
    version: str
    realisation: Realisation
    spec_path: Loc
    releases: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanResource:
    """What makes the cluster itself: a cloud resource, or on `local` a simulated node.

    Attributes:
        type: Pulumi type token, e.g. aws:ec2/launchTemplate:LaunchTemplate.
        inputs: as the type's argument class names them (camelCase); values of `plan.values` stand in it.
        ignore: input paths that something else changes while the cluster runs, e.g. scalingConfig.desiredSize.
        retained: `down` keeps it, and says so.
    """

    id: str
    type: str
    inputs: Manifest
    needs: tuple[str, ...]
    spec_path: Loc
    ignore: tuple[str, ...] = ()
    retained: bool = False


@dataclass(frozen=True, slots=True)
class PlanRelease:
    """A Helm release: exact version, whole values.

    Attributes:
        crds: names of its CRDs; what needs the release waits until they are Established.
        webhook_probes: objects that its webhooks look at; what needs the release waits until a dry run of each is
            answered.
        overrides: paths in `values` of the values that the spec gives.
    """

    id: str
    name: str
    chart: str
    version: str
    repository: str
    namespace: str
    values: Manifest
    needs: tuple[str, ...]
    realisation: Realisation
    spec_path: Loc
    crds: tuple[str, ...] = ()
    webhook_probes: tuple[Manifest, ...] = ()
    overrides: tuple[ValuePath, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanObject:
    """A Kubernetes object that we own, whole, with what must exist before it.

    Attributes:
        crds: names of the CRDs that a controller installs because of the object; what needs the object waits until
            they are Established.
    """

    id: str
    manifest: Manifest
    needs: tuple[str, ...]
    spec_path: Loc
    crds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DefiningObject:
    """An object with `crds`, in the form of a release that has to be ready before what needs it."""

    id: str
    name: str
    namespace: str
    crds: tuple[str, ...]
    webhook_probes: tuple[Manifest, ...] = ()
    realisation: Realisation = "helm"


@dataclass(frozen=True, slots=True)
class PlanPod:
    """The shape of pods that a component will create, and how we know it.

    Attributes:
        owner: id of the release or object that creates them.
        name: of the workload; "" for the release's own name.
        replicas: pods of a Deployment or StatefulSet, or parallel ones of a Job (a Helm hook).
        not_on: names of pools whose nodes its required node affinity refuses.
        yields: its priority is below that of all other pods, which displace it.
        apart: no two of its replicas share a node (required anti-affinity on kubernetes.io/hostname).
    """

    owner: str
    kind: Literal["Deployment", "DaemonSet", "StatefulSet", "Job"]
    namespace: str
    node_selector: Mapping[str, str]
    tolerations: tuple[Toleration, ...]
    requests: Amounts
    priority_class: str
    evidence: Literal["rendered", "declared"]
    source: str
    spec_path: Loc
    name: str = ""
    replicas: int = 1
    apart: bool = False
    yields: bool = False
    not_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """What the plan is for."""

    name: str
    target: Literal["eks", "existing", "local"]
    region: str
    kubernetes_version: str
    kubernetes_provider: Literal["official", "builtin"]
    budget_usd_per_hour: float | None


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that `up` makes true.

    Attributes:
        default_requests: what a team's container requests that names no requests.
        findings: what components have to say of how they are used; `rules.findings` tells them with its own.
    """

    cluster: ClusterFacts
    pools: tuple[Pool, ...]
    teams: tuple[TeamPlan, ...]
    cohorts: tuple[CohortPlan, ...]
    tiers: tuple[Tier, ...]
    components: tuple[ComponentPlan, ...]
    resources: tuple[PlanResource, ...]
    releases: tuple[PlanRelease, ...]
    objects: tuple[PlanObject, ...]
    pods: tuple[PlanPod, ...]
    findings: tuple[Finding, ...] = ()
    default_requests: Amounts = field(default_factory=dict)

    @property
    def registered_releases(self) -> tuple[PlanRelease, ...]:
        """The releases that a stack registers: neither processes nor stand-ins of the lab, nor present already."""
        return tuple(release for release in self.releases if release.realisation == "helm")

    @property
    def defining_objects(self) -> tuple[DefiningObject, ...]:
        """The objects because of which a controller installs CRDs."""
        return tuple(
            DefiningObject(
                entry.id,
                f"{entry.manifest['kind']} {entry.manifest['metadata']['name']}",
                entry.manifest["metadata"].get("namespace", "default"),
                entry.crds,
            )
            for entry in self.objects
            if entry.crds
        )

    @property
    def immutable(self) -> dict[str, tuple[str, ...]]:
        """Object ids -> paths of the fields whose change replaces the object.

        Empty with the built-in provider, which asks the API server instead.
        """
        if self.cluster.kubernetes_provider == "builtin":
            return {}
        return {item.id: paths for item in self.objects if (paths := immutable_fields(item.manifest))}

    @property
    def registered(self) -> frozenset[str]:
        """Ids of everything that the stacks register: what the state holds after a complete `up`."""
        parts: tuple[PlanResource | PlanRelease | PlanObject, ...]
        parts = (*self.resources, *self.registered_releases, *self.objects)
        return frozenset(entry.id for entry in parts)
