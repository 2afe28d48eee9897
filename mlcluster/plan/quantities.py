"""Amounts of resources as integers, and their canonical Kubernetes spelling.

The API server stores quantities in one canonical form; writing that form ourselves keeps a second `up` free of changes
(k8s.io/apimachinery resource.Quantity: largest suffix that leaves no fraction).
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal

MEMORY_RESOURCES = frozenset({"memory", "ephemeral-storage", "hugepages-2Mi"})
_STEPS = {"hugepages-2Mi": 2}
"""The API server rejects a pod that requests part of a page."""
_DECIMAL = ("", "k", "M", "G", "T", "P", "E")
_BINARY = ("Mi", "Gi", "Ti", "Pi", "Ei")
_FACTORS = {
    "m": Decimal("0.001"),
    "": Decimal(1),
    "k": Decimal(10) ** 3,
    "M": Decimal(10) ** 6,
    "G": Decimal(10) ** 9,
    "T": Decimal(10) ** 12,
    "P": Decimal(10) ** 15,
    "E": Decimal(10) ** 18,
    "Ki": Decimal(2) ** 10,
    "Mi": Decimal(2) ** 20,
    "Gi": Decimal(2) ** 30,
    "Ti": Decimal(2) ** 40,
    "Pi": Decimal(2) ** 50,
    "Ei": Decimal(2) ** 60,
}


def unit(resource: str) -> str:
    """What one count of `resource` is in our amounts: "m" (milli-CPU), "MiB" or "" (pieces)."""
    if resource == "cpu":
        return "m"
    return "MiB" if resource in MEMORY_RESOURCES else ""


def parse(resource: str, text: str) -> int:
    """A quantity as the spec writes it ("1500m", "64Gi") in our unit, rounded down."""
    suffix = text.lstrip("0123456789.")
    value = Decimal(text.removesuffix(suffix)) * _FACTORS[suffix]
    if resource == "cpu":
        return int(value * 1000)
    return int(value / _FACTORS["Mi"]) if resource in MEMORY_RESOURCES else int(value)


def canonical(resource: str, amount: int) -> str:
    """`amount` in our unit as Kubernetes spells it: 2000 milli-CPU is "2", 2048 MiB is "2Gi"."""
    if amount == 0:
        return "0"
    if resource in MEMORY_RESOURCES:
        return _scaled(amount, 1024, _BINARY)
    if resource == "cpu" and amount % 1000:
        return f"{amount}m"
    return _scaled(amount // 1000 if resource == "cpu" else amount, 1000, _DECIMAL)


def _scaled(amount: int, step: int, suffixes: tuple[str, ...]) -> str:
    exponent = 0
    while exponent + 1 < len(suffixes) and amount % step == 0:
        amount //= step
        exponent += 1
    return f"{amount}{suffixes[exponent]}"


def add(*amounts: Mapping[str, int]) -> dict[str, int]:
    """The sum, resource by resource."""
    total: dict[str, int] = {}
    for part in amounts:
        for name, amount in part.items():
            total[name] = total.get(name, 0) + amount
    return total


def subtract(whole: Mapping[str, int], part: Mapping[str, int]) -> dict[str, int]:
    """What is left of every resource of `whole`, never below zero."""
    return {name: max(0, amount - part.get(name, 0)) for name, amount in whole.items()}


def fraction(whole: Mapping[str, int], numerator: int, denominator: int) -> dict[str, int]:
    """`whole` x numerator / denominator, rounded down to what a pod can request: of huge pages whole ones."""
    return {
        name: amount * numerator // denominator // _STEPS.get(name, 1) * _STEPS.get(name, 1)
        for name, amount in whole.items()
    }


def ordered(names: Iterable[str]) -> list[str]:
    """Resource names in the order that every list of ours has: the native four, then the rest by name."""
    native = ("cpu", "memory", "ephemeral-storage", "pods")
    present = set(names)
    return [name for name in native if name in present] + sorted(present.difference(native))
