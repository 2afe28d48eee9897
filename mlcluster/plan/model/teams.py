"""Teams, their shares of pools, cohorts and priority tiers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mlcluster.plan.model.nodes import Amounts
from mlcluster.spec.document import Loc
from mlcluster.spec.teams import GRACE_PERIOD_SECONDS


@dataclass(frozen=True, slots=True)
class FlavorQuota:
    """The share of a team of one pool; amounts cover every resource of the cluster's queues.

    Attributes:
        pool: name of the pool.
        nominal: the guarantee.
        borrowing: the limit of amounts beyond the guarantee; None for all idle quota of the cohort.
        lending: the limit of nominal quota that other teams may use; None for all of it.
    """

    pool: str
    nominal: Amounts
    borrowing: Amounts | None
    lending: Amounts | None


@dataclass(frozen=True, slots=True)
class TeamPlan:
    """A team with its namespace, quotas and limits.

    Attributes:
        limits: the hard limits of its ResourceQuota: key -> Kubernetes quantity.
        grace_period_seconds: the longest termination grace period of its pods.
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
    """A cohort, and the amounts of each pool that no team is guaranteed and every team may borrow."""

    name: str
    remainder: Mapping[str, Amounts]
    spec_path: Loc


@dataclass(frozen=True, slots=True)
class Tier:
    """A priority tier."""

    name: str
    value: int
    preempts_pods: bool
    description: str
    spec_path: Loc
