"""The root of the spec: `apiVersion: mlcluster/v1alpha1`, `kind: Cluster`."""

from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import Field

from mlcluster.spec.base import Doc, Name, SpecModel
from mlcluster.spec.components import Components
from mlcluster.spec.pools import NodePool
from mlcluster.spec.resolved_pools import ResolvedPool
from mlcluster.spec.storage import Storage
from mlcluster.spec.targets import Target
from mlcluster.spec.teams import Team

API_VERSION = "mlcluster/v1alpha1"


class Metadata(SpecModel):
    """Identity of the cluster."""

    name: Annotated[Name, Doc(example="atlas")]
    """Name of the cluster, of its Pulumi stacks and of its default cohort."""


class PriorityTier(SpecModel):
    """A priority level, which becomes a PriorityClass and a WorkloadPriorityClass."""

    name: Annotated[Name, Doc(example="time-sensitive-training")]
    """Name of both priority classes."""
    value: Annotated[int, Field(ge=1, le=1_000_000_000), Doc(example=1000)]
    """Priority. Kueue admits workloads with a higher value first; they can preempt lower tiers of the same queue."""
    preempts_pods: bool = False
    """Let the Kubernetes scheduler preempt single pods, too. With `false`, only Kueue preempts, and always whole
    workloads."""
    description: Annotated[str, Field(max_length=200), Doc(example="training with a deadline")] = ""
    """Description of the tier in both priority classes."""


class Cohort(SpecModel):
    """A group of teams that borrow quota from each other."""

    name: Annotated[Name, Doc(example="research")]
    """Name of the Kueue Cohort."""
    share: Literal["remainder", "none"] = "remainder"
    """What happens to quota that is guaranteed to no team: `remainder` lets the teams of this cohort borrow it, `none`
    keeps it out of this cohort. Only one cohort can have the remainder."""


class State(SpecModel):
    """Storage of the Pulumi state."""

    backend: Annotated[
        Annotated[str, Field(pattern=r"^(file|s3|gs|azblob|https?)://.+", max_length=1024)] | None,
        Doc(example="s3://atlas-state", default="files in the state directory of the user"),
    ] = None
    """URL of the state backend."""
    secrets_provider: Annotated[
        Annotated[str, Field(pattern=r"^(passphrase$|(awskms|gcpkms|azurekeyvault|hashivault)://.+)")] | None,
        Doc(example="awskms://alias/atlas", default="a passphrase file in the state directory of the user"),
    ] = None
    """Provider of the key that encrypts secrets in the state."""


class Budget(SpecModel):
    """Cost limit of the cluster."""

    max_hourly_usd: Annotated[float, Field(gt=0), Doc(example=500, unit="USD per hour")]
    """Maximum price of all pools at `maxSize`. `mlcluster validate` reports a finding if the plan costs more."""


class Allowed(SpecModel):
    """An accepted finding."""

    id: Annotated[str, Field(pattern=r"^[A-Z]{3}[0-9]{3}$"), Doc(example="CST001")]
    """ID of the finding. docs/findings.md lists all findings."""
    reason: Annotated[
        str, Field(min_length=10, max_length=500), Doc(example="The capacity block is paid for until December.")
    ]
    """Why the finding is acceptable for this cluster."""


def default_tiers() -> list[PriorityTier]:
    """Return the priority tiers of a spec without `priorityTiers` (design.md section 9)."""
    return [
        PriorityTier(name="production-critical", value=10000, description="serving and deadlines"),
        PriorityTier(name="time-sensitive-training", value=1000, description="training with a date"),
        PriorityTier(name="best-effort-experiment", value=100, description="may wait, may be displaced"),
    ]


class ClusterSpec(SpecModel):
    """A multi-tenant GPU Kubernetes cluster."""

    api_version: Literal["mlcluster/v1alpha1"]
    """Version of the spec format."""
    kind: Literal["Cluster"]
    """Kind of the document."""
    metadata: Metadata
    """Identity of the cluster."""
    target: Target
    """Where the cluster runs: a new EKS cluster, an existing cluster or the local lab."""
    node_pools: Annotated[list[NodePool], Field(min_length=1, max_length=200)]
    """Node pools: groups of identical nodes that scale together."""
    components: Components = Field(default_factory=Components)
    """Software that mlcluster installs on the cluster, such as Kueue, the GPU operator and monitoring."""
    priority_tiers: Annotated[
        list[PriorityTier],
        Field(min_length=1, max_length=20),
        Doc(default="production-critical, time-sensitive-training and best-effort-experiment"),
    ] = Field(default_factory=default_tiers)
    """Priority levels of workloads."""
    cohorts: Annotated[list[Cohort], Field(max_length=20), Doc(default="one cohort with the name of the cluster")] = []
    """Groups of teams that borrow quota from each other."""
    teams: Annotated[list[Team], Field(max_length=1000)] = []
    """Tenants of the cluster. Each team gets a namespace, a queue and a quota."""
    storage: Annotated[Storage, Doc(targets=("eks",))] = Field(default_factory=Storage)
    """Storage classes and shared file systems."""
    state: State = Field(default_factory=State)
    """Storage of the Pulumi state."""
    budget: Annotated[Budget | None, Doc(default="no limit")] = None
    """Cost limit of the cluster."""
    allow: Annotated[list[Allowed], Field(max_length=100)] = []
    """Findings to accept, each with a reason."""

    @cached_property
    def resolved_pools(self) -> tuple[ResolvedPool, ...]:
        """Return the node pools with the facts of their nodes, in the order of the spec."""
        return tuple(ResolvedPool(self, index, pool) for index, pool in enumerate(self.node_pools))

    @cached_property
    def _pools_by_name(self) -> dict[str, ResolvedPool]:
        return {pool.name: pool for pool in self.resolved_pools}

    def pool(self, name: str) -> ResolvedPool:
        """Return the node pool with this name.

        Raises:
            KeyError: the spec has no such pool.
        """
        return self._pools_by_name[name]

    @property
    def cohort_names(self) -> list[str]:
        """Return the names of the cohorts: by default of one with the name of the cluster."""
        return [cohort.name for cohort in self.cohorts] or [self.metadata.name]

    def __copy__(self) -> Self:
        """Return a copy that resolves its own pools."""
        copied = super().__copy__()
        for derived in ("resolved_pools", "_pools_by_name"):
            copied.__dict__.pop(derived, None)
        return copied
