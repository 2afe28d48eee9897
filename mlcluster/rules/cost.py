"""Money: list prices of a region on a date, never more than that."""

from collections.abc import Iterator

from mlcluster.catalog.prices import LOWEST_BOUGHT, LOWEST_REGION
from mlcluster.findings import Finding, found
from mlcluster.plan.costs import costs
from mlcluster.plan.model import Plan, Pool
from mlcluster.plan.places import place

_WHERE = ("budget", "maxHourlyUsd")


def budget(plan: Plan) -> Iterator[Finding]:
    """CST001, CST002: all pools at their maximum size and what stands beside them against the budget, USD per hour.

    List prices of us-east-1 stand in for those of other regions and other ways to buy. Above the budget even at the
    lowest share of them that `catalog.prices` knows, they are as certain as exact prices.
    """
    most = plan.cluster.budget_usd_per_hour
    if most is None:
        return
    priced = [pool for pool in plan.pools if pool.price is not None]
    beside = costs(plan).beside_usd_per_hour
    total = sum(pool.usd_per_hour_at_max or 0 for pool in priced) + beside
    exact = all(pool.price is not None and pool.price.exact for pool in priced)
    certain = exact and len(priced) == len(plan.pools)
    least = sum(_least(plan, pool) for pool in priced) + beside * (1 if exact else LOWEST_REGION)
    figures = " + ".join(
        [*(f"{pool.name} ${pool.usd_per_hour_at_max:,.2f}" for pool in priced), *_beside(plan, beside)]
    )
    if total > most:
        over = certain or least > most
        bound = "" if certain or not over else f"; even at the lowest prices that AWS may ask it is ${least:,.2f}"
        yield found(
            "CST001" if over else "CST002",
            _WHERE,
            f"at maximum size the nodes cost {'' if certain else '≈ '}${total:,.2f} an hour ({figures}), "
            f"the budget is ${most:,.2f}{bound}{_left_out(plan)}",
            "Lower maxSize or raise the budget.",
        )
    elif not certain:
        yield found(
            "CST002",
            _WHERE,
            f"the budget of ${most:,.2f} cannot be proven: "
            + (f"prices are unknown or another region's ({figures})" if priced else "no price is known")
            + _left_out(plan),
            "compare with your own prices",
        )


def _least(plan: Plan, pool: Pool) -> float:
    """Return the least that a pool may cost at its maximum size; on `existing` its nodes may be bought in any way."""
    cost = pool.usd_per_hour_at_max or 0
    if pool.price is None or pool.price.exact:
        return cost
    bought = min(LOWEST_BOUGHT.values()) if plan.cluster.target == "existing" else LOWEST_BOUGHT[pool.capacity_type]
    here = 1 if plan.cluster.region == pool.price.region else LOWEST_REGION
    return cost * bought * here


def _beside(plan: Plan, usd: float) -> list[str]:
    """Return the figure for what the plan makes beside nodes, e.g. "control plane and network $0.15"."""
    names = [one.name for one in costs(plan).beside_nodes]
    return [f"{', '.join(names)} ${usd:,.2f}"] if usd else []


def _left_out(plan: Plan) -> str:
    names = costs(plan).not_counted
    return f"; not counted: {', '.join(names)}" if names else ""


def unknown_prices(plan: Plan) -> Iterator[Finding]:
    """CST003: a pool whose price nobody knows."""
    for pool in plan.pools:
        if pool.price is None and plan.cluster.target != "existing":
            yield found(
                "CST003",
                place(pool.spec_path),
                f"the price of {pool.instance_type or 'this node shape'} is not known",
                "totals leave the pool out; give nodeShape.hourlyUsd",
            )
