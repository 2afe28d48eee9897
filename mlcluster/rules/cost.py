"""Rules on cost: list prices of a region against the budget, unknown prices, and resources that outlive `down`."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from mlcluster.catalog.prices import LOWEST_BOUGHT, LOWEST_REGION, PRICE_REGION
from mlcluster.findings import Finding, finding
from mlcluster.plan.costs import costs
from mlcluster.plan.model import Plan, Pool
from mlcluster.spec.document import Loc

_WHERE = ("budget", "maxHourlyUsd")
_UNBOUNDED = math.inf
"""No source gives an upper bound of prices in another region, so a budget there is never proven."""


@dataclass(frozen=True, slots=True)
class _Figure:
    """USD per hour of a pool at maximum size, or of all resources beside the nodes.

    Attributes:
        name: the pool, or the names of the resources.
        usd: the list price.
        least: the lowest possible price; the same as `usd` if the price is exact.
        most: the highest possible price; infinite if unknown.
    """

    name: str
    usd: float
    least: float
    most: float

    @property
    def exact(self) -> bool:
        """Whether the price cannot differ from the list price."""
        return self.least == self.most

    def __str__(self) -> str:
        return f"{self.name} {'' if self.exact else '≈ '}${self.usd:,.2f}"


def budget(plan: Plan) -> Iterator[Finding]:
    """CST001, CST002: compare the budget with the cost of all pools at maximum size and of the resources beside them.

    List prices of us-east-1 replace those of other regions and other capacity types. `catalog.prices` has a lower bound
    of each: a cost above the budget at the lower bound is an error. A cost within the budget is no finding if the list
    prices of the region are an upper bound of all its parts.
    """
    limit = plan.cluster.budget_usd_per_hour
    if limit is None:
        return
    figures = [_of_pool(plan, pool) for pool in plan.pools if pool.price is not None] + _beside(plan)
    # Cents, as the message prints them: $5.67 is not above a budget of $5.67.
    least, total, most = (round(sum(getattr(one, name) for one in figures), 2) for name in ("least", "usd", "most"))
    unpriced = costs(plan).unpriced_pools
    if not figures:
        message = f"{_no_price(unpriced)}, so the budget of ${limit:,.2f} cannot be checked{_left_out(plan)}"
        yield finding("CST002", _WHERE, message, "Compare the budget with your own prices.")
    elif total > limit:
        bound = "" if least == most else f"; the lowest possible price is ${least:,.2f}"
        message = f"{_cost(plan, figures)}, above the budget of ${limit:,.2f}{_notes(plan, figures, bound)}"
        yield finding("CST001" if least > limit else "CST002", _WHERE, message, "Lower `maxSize`, or raise the budget.")
    elif most > limit or unpriced:
        message = f"{_cost(plan, figures)}, within the budget of ${limit:,.2f}{_notes(plan, figures)}"
        yield finding("CST002", _WHERE, message, "Compare the figures with your own prices.")


def _of_pool(plan: Plan, pool: Pool) -> _Figure:
    """Return the figure of a pool that has a price; on `existing` its capacity type is unknown."""
    cost = pool.usd_per_hour_at_max or 0
    if pool.price is None or pool.price.exact:
        return _Figure(pool.name, cost, cost, cost)
    bought = min(LOWEST_BOUGHT.values()) if plan.cluster.target == "existing" else LOWEST_BOUGHT[pool.capacity_type]
    here = plan.cluster.region == pool.price.region
    bounded = here and pool.capacity_type != "capacityBlock"  # whose price follows supply and demand
    return _Figure(
        pool.name, cost, cost * bought * (1.0 if here else LOWEST_REGION), cost * (1.0 if bounded else _UNBOUNDED)
    )


def _beside(plan: Plan) -> list[_Figure]:
    """Return the figure of the resources beside the nodes, e.g. "EKS control plane, NAT gateway $0.15"."""
    cost = costs(plan)
    if not cost.beside_nodes:
        return []
    usd = cost.beside_usd_per_hour
    least, most = (1.0, 1.0) if plan.cluster.region == PRICE_REGION else (LOWEST_REGION, _UNBOUNDED)
    return [_Figure(", ".join(one.name for one in cost.beside_nodes), usd, usd * least, usd * most)]


def _cost(plan: Plan, figures: list[_Figure]) -> str:
    """Return the total and its parts, as a clause."""
    what = "the cluster costs" if costs(plan).beside_nodes else "the nodes cost"
    at_least = "at least " if costs(plan).unpriced_pools else ""
    about = "" if all(one.exact for one in figures) else "≈ "
    total = sum(one.usd for one in figures)
    return f"at maximum size {what} {at_least}{about}${total:,.2f} an hour ({' + '.join(map(str, figures))})"


def _notes(plan: Plan, figures: list[_Figure], bound: str = "") -> str:
    """Return the notes on the figures, as clauses that begin with a semicolon; "" if there are none."""
    about = "" if all(one.exact for one in figures) else f"; ≈ marks on-demand list prices of {PRICE_REGION}"
    unpriced = costs(plan).unpriced_pools
    return f"{about}{bound}{f'; {_no_price(unpriced)}' if unpriced else ''}{_left_out(plan)}"


def _no_price(pools: tuple[str, ...]) -> str:
    return f"no price is known for pool{'' if len(pools) == 1 else 's'} {', '.join(pools)}"


def _left_out(plan: Plan) -> str:
    names = costs(plan).not_counted
    return f"; not counted: {', '.join(names)}" if names else ""


def unknown_prices(plan: Plan) -> Iterator[Finding]:
    """CST003: neither the catalog nor the spec has a price for the pool."""
    for pool in plan.pools:
        if pool.price is None and plan.cluster.target != "existing":
            yield finding(
                "CST003",
                pool.spec_path,
                f"the price of {pool.instance_type or 'this node shape'} is unknown, so totals exclude the pool",
                "Set `nodeShape.hourlyUsd`.",
            )


def kept_by_down(plan: Plan) -> Iterator[Finding]:
    """STO001: resources that `down` keeps and AWS continues to bill."""
    kept: dict[Loc, list[str]] = {}
    for entry in plan.resources:
        if entry.retained:
            kept.setdefault(entry.spec_path, []).append(entry.id)
    for spec_path, identifiers in kept.items():
        yield finding(
            "STO001",
            spec_path,
            f"`down` keeps {', '.join(identifiers)}, which AWS continues to bill",
            "Run the commands that `down` prints to delete them; `retain: false` deletes shared volumes too.",
        )
