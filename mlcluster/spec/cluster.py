"""The whole spec: `apiVersion: mlcluster/v1alpha1`, `kind: Cluster`."""

from typing import Annotated, Literal

from pydantic import Field

from mlcluster.spec.base import Name, SpecModel
from mlcluster.spec.components import Components
from mlcluster.spec.pools import NodePool
from mlcluster.spec.storage import Storage
from mlcluster.spec.targets import Target
from mlcluster.spec.teams import Team

API_VERSION = "mlcluster/v1alpha1"


class Metadata(SpecModel):
    """What the cluster is called."""

    name: Name
    """Name of the cluster, the Pulumi stack and the cohort."""


class PriorityTier(SpecModel):
    """One priority level: makes a PriorityClass and a WorkloadPriorityClass."""

    name: Name
    """Name of both priority classes."""
    value: Annotated[int, Field(ge=1, le=1_000_000_000)]
    """Higher goes first and, in the queue, displaces lower."""
    preempts_pods: bool = False
    """Let the scheduler kill single pods too; the default leaves gangs whole and preempts in the queue."""
    description: Annotated[str, Field(max_length=200)] = ""


class Cohort(SpecModel):
    """Teams that borrow from each other."""

    name: Name
    share: Literal["remainder", "none"] = "remainder"
    """What nobody is guaranteed: everybody's to borrow (remainder), or nobody's (none)."""


class State(SpecModel):
    """Where Pulumi keeps its state."""

    backend: Annotated[str, Field(pattern=r"^(file|s3|gs|azblob|https?)://.+", max_length=1024)] | None = None
    """Default: files in the user's state directory."""
    secrets_provider: (
        Annotated[str, Field(pattern=r"^(passphrase$|(awskms|gcpkms|azurekeyvault|hashivault)://.+)")] | None
    ) = None
    """Default: a passphrase file in the user's state directory."""


class Budget(SpecModel):
    """What the cluster may cost."""

    max_hourly_usd: Annotated[float, Field(gt=0)]
    """All pools at their maximum size, USD per hour."""


class Allowed(SpecModel):
    """A finding that is accepted, and why."""

    id: Annotated[str, Field(pattern=r"^[A-Z]{3}[0-9]{3}$")]
    """ID of the finding, e.g. CST001."""
    reason: Annotated[str, Field(min_length=10, max_length=500)]
    """Why it is fine here: a sentence that a reviewer can judge."""


def default_tiers() -> list[PriorityTier]:
    """The three tiers of a cluster that names none (design.md section 9)."""
    return [
        PriorityTier(name="production-critical", value=10000, description="serving and deadlines"),
        PriorityTier(name="time-sensitive-training", value=1000, description="training with a date"),
        PriorityTier(name="best-effort-experiment", value=100, description="may wait, may be displaced"),
    ]


class ClusterSpec(SpecModel):
    """One multi-tenant GPU Kubernetes cluster."""

    api_version: Literal["mlcluster/v1alpha1"]
    kind: Literal["Cluster"]
    metadata: Metadata
    target: Target
    """Where the cluster comes from."""
    node_pools: Annotated[list[NodePool], Field(min_length=1, max_length=200)]
    """Nodes of one shape that scale together."""
    components: Components = Field(default_factory=Components)
    priority_tiers: Annotated[list[PriorityTier], Field(min_length=1, max_length=20)] = Field(
        default_factory=default_tiers
    )
    """Default: production-critical, time-sensitive-training, best-effort-experiment."""
    cohorts: Annotated[list[Cohort], Field(max_length=20)] = []
    """Default: one cohort named like the cluster."""
    teams: Annotated[list[Team], Field(max_length=1000)] = []
    """Each a namespace, a queue and a quota."""
    storage: Storage = Field(default_factory=Storage)
    state: State = Field(default_factory=State)
    budget: Budget | None = None
    allow: Annotated[list[Allowed], Field(max_length=100)] = []
    """Findings that are accepted, each with its reason."""
