"""Teams, their shares of pools, cohorts and priority tiers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mlcluster.plan.model.nodes import Amounts
from mlcluster.spec.document import Loc
from mlcluster.spec.teams import GRACE_PERIOD_SECONDS


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
