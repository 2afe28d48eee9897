"""Money: list prices of a region on a date, never more than that."""

from collections.abc import Iterator

from mlcluster.findings import Finding, found
from mlcluster.plan.model import Plan
from mlcluster.plan.places import place


def budget(plan: Plan) -> Iterator[Finding]:
    """CST001, CST002: all pools at their maximum size against the budget, USD per hour."""
    most = plan.cluster.budget_usd_per_hour
    if most is None:
        return
    priced = [pool for pool in plan.pools if pool.price is not None]
    total = sum(pool.usd_per_hour_at_max or 0 for pool in priced)
    certain = len(priced) == len(plan.pools) and all(pool.price is not None and pool.price.exact for pool in priced)
    figures = " + ".join(f"{pool.name} ${pool.usd_per_hour_at_max:,.2f}" for pool in priced)
    if total > most:
        yield found(
            "CST001" if certain else "CST002",
            ("budget", "maxHourlyUsd"),
            f"at maximum size the pools cost {'' if certain else '≈ '}${total:,.2f} an hour ({figures}), "
            f"the budget is ${most:,.2f}",
            "lower maxSize or raise the budget",
        )
    elif not certain:
        yield found(
            "CST002",
            ("budget", "maxHourlyUsd"),
            f"the budget of ${most:,.2f} cannot be proven: "
            + (f"prices are unknown or another region's ({figures})" if priced else "no price is known"),
            "compare with your own prices",
        )


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
