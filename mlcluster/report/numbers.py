"""Amounts, prices and counts as text."""

from collections.abc import Sequence

from mlcluster.plan.model import Price
from mlcluster.quantities import MEMORY_RESOURCES

_SHORT = {"memory": "mem", "ephemeral-storage": "disk", "vpc.amazonaws.com/efa": "efa", "hugepages-2Mi": "huge"}


def amount(resource: str, value: int) -> str:
    """Return a resource amount: milli-CPU as cores, MiB as GiB or TiB (or MiB below one GiB), pieces as they are."""
    if resource == "cpu":
        return f"{value / 1000:.0f}" if value >= 100_000 else f"{value / 1000:.1f}".removesuffix(".0")
    if resource in MEMORY_RESOURCES:
        gib = value / 1024
        if 0 < gib < 1:
            return f"{value} MiB"
        return f"{gib / 1024:.1f} TiB" if gib >= 1024 else f"{gib:.0f} GiB"
    return str(value)


def short(resource: str) -> str:
    """Return the short name of a resource for a narrow column: "gpu" for nvidia.com/gpu."""
    return _SHORT.get(resource, resource.removeprefix("nvidia.com/"))


def usd(value: float | None) -> str:
    """USD per hour with two decimals; "unknown" where no price is known."""
    return "unknown" if value is None else f"${value:,.2f}"


def price_source(prices: list[Price]) -> str:
    """Return the line under the prices that explains them."""
    dated = sorted({(price.region, price.date) for price in prices if price.date})
    own = any(not price.date for price in prices)
    if not dated:
        return "USD per hour, as the spec gives them" if own else ""
    region, date = dated[0]
    exact = all(price.exact for price in prices)
    listed = f"USD per hour, {'' if exact else '≈ '}{region} on-demand list price of {date}"
    return f"{listed}, or as the spec gives them" if own else listed


def share(part: int, whole: int) -> str:
    """Return a percentage of `whole`; "-" of nothing."""
    return f"{100 * part / whole:.0f}%" if whole else "-"


def counted(count: int, one: str, many: str) -> str:
    """Return a number with its noun, and verb if need be: "1 resource is", "3 resources are"."""
    return f"{count} {one if count == 1 else many}"


def some(items: Sequence[str], most: int = 10) -> str:
    """Return the first of a list, and how many more there are."""
    return ", ".join(items[:most]) + (f" and {len(items) - most} more" if len(items) > most else "")
