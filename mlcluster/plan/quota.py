"""The quota arithmetic (design.md section 9).

Per node: usable = allocatable - daemon sets - reserved, and a node of a guarantee = usable - what controllers may take
of one node, so that it fits wherever their pods stand. A share in GPUs or slices is the same fraction of every other
resource, rounded down. Per pool, at its maximum size: nodes x usable - controllers = guaranteed + unassigned. The
unassigned rest is the cohort's own nominal quota, so that every team may borrow it.
"""

from collections.abc import Iterable, Mapping

from mlcluster.plan.model import CohortPlan, FlavorQuota, Pool, TeamPlan
from mlcluster.quantities import add, fraction, subtract
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.teams import Amount, Limits, Team


def in_flavor_order(pools: Iterable[Pool]) -> list[Pool]:
    """CPU pools before GPU pools: Kueue tries flavors in order, and a CPU job belongs on the first kind."""
    return sorted(pools, key=lambda pool: pool.accelerator is not None)


def for_teams(pools: Iterable[Pool]) -> tuple[Pool, ...]:
    """Return the pools that teams can have quota of."""
    return tuple(pool for pool in pools if not pool.system_only)


def amounts_of(pool: Pool, amount: Amount) -> dict[str, int]:
    """Return an amount of a pool as amounts of every resource."""
    if amount.nodes is not None:
        return fraction(pool.node_share, amount.nodes, 1)
    if pool.accelerator is None:
        return dict.fromkeys(pool.usable, 0)
    if amount.gpus is not None:
        return fraction(pool.node_share, amount.gpus, pool.accelerator.gpus)
    return fraction(pool.node_share, amount.slices or 0, pool.accelerator.slices)


def team_plans(spec: ClusterSpec, pools: tuple[Pool, ...]) -> tuple[TeamPlan, ...]:
    """Return every team with its quota per pool, in the spec's order."""
    order = in_flavor_order(pools)
    every_tier = tuple(tier.name for tier in spec.priority_tiers)
    return tuple(
        TeamPlan(
            name=team.name,
            namespace=team.name,
            cohort=team.cohort or spec.cohort_names[0],
            quotas=tuple(quota for pool in order if (quota := _quota(team, pool)) is not None),
            tiers=tuple(team.tiers) if team.tiers is not None else every_tier,
            spec_path=("teams", index),
            grace_period_seconds=team.limits.grace_period_seconds,
        )
        for index, team in enumerate(spec.teams)
    )


def cohort_plans(spec: ClusterSpec, pools: tuple[Pool, ...], teams: tuple[TeamPlan, ...]) -> tuple[CohortPlan, ...]:
    """Return every cohort with its remainder, which no team has a guarantee of; empty if the spec excludes it."""
    shares = {cohort.name: cohort.share for cohort in spec.cohorts}
    guaranteed = guaranteed_per_pool(teams)
    remainder = {pool.name: subtract(pool.capacity, guaranteed.get(pool.name, {})) for pool in in_flavor_order(pools)}
    return tuple(
        CohortPlan(
            name=name,
            remainder=remainder if shares.get(name, "remainder") == "remainder" else {},
            spec_path=("cohorts", index) if spec.cohorts else ("metadata", "name"),
        )
        for index, name in enumerate(spec.cohort_names)
    )


def guaranteed_per_pool(teams: Iterable[TeamPlan]) -> dict[str, dict[str, int]]:
    """Return pool -> the sum of the guarantees of all teams."""
    total: dict[str, dict[str, int]] = {}
    for team in teams:
        for quota in team.quotas:
            total[quota.pool] = add(total.get(quota.pool, {}), quota.nominal)
    return total


def _quota(team: Team, pool: Pool) -> FlavorQuota | None:
    guarantee = team.guarantee.get(pool.name)
    nominal = amounts_of(pool, guarantee) if guarantee is not None else dict.fromkeys(pool.usable, 0)
    borrowing = _limit(team.borrow, pool, default="none")
    lending = _limit(team.lend, pool, default="all")
    has_nominal = any(nominal.values())
    may_borrow = borrowing is None or any(borrowing.values())
    if not has_nominal and not may_borrow:
        return None
    if lending is not None:
        lending = {name: min(amount, nominal[name]) for name, amount in lending.items()}
    return FlavorQuota(pool.name, nominal, borrowing, lending if has_nominal else None)


def _limit(limits: Limits, pool: Pool, default: str) -> Mapping[str, int] | None:
    """Return the limit on one pool: None is no limit."""
    value = limits if isinstance(limits, str) else limits.get(pool.name, default)
    if value == "all":
        return None
    if isinstance(value, Amount):
        return amounts_of(pool, value)
    return dict.fromkeys(pool.usable, 0)
