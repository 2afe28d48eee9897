"""Kubernetes quantities as integers, and their canonical form.

The API server stores quantities in one canonical form; with that form in the plan, a second `up` has no changes
(k8s.io/apimachinery resource.Quantity: largest suffix that leaves no fraction).
"""

import re
from collections.abc import Iterable, Mapping

MEMORY_RESOURCES = frozenset({"memory", "ephemeral-storage", "hugepages-2Mi"})
_STEPS = {"hugepages-2Mi": 2}
"""The API server rejects a pod that requests part of a page."""
_DECIMAL = ("", "k", "M", "G", "T", "P", "E")
_BINARY = ("Mi", "Gi", "Ti", "Pi", "Ei")
_QUANTITY = re.compile(r"([0-9]*)\.?([0-9]*)(?:[eE]([+-]?[0-9]{1,2})|(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?)")
_FACTORS: Mapping[str, int] = {
    **{suffix: 1000**power for power, suffix in enumerate(_DECIMAL)},
    **{suffix: 1024**power for power, suffix in enumerate(("Ki", *_BINARY), start=1)},
}
_DIVISORS = {"m": 10**3, "u": 10**6, "n": 10**9}


def unit(resource: str) -> str:
    """Return the unit of the amounts of a resource: "m" (milli-CPU), "MiB" or "" (pieces)."""
    if resource == "cpu":
        return "m"
    return "MiB" if resource in MEMORY_RESOURCES else ""


def parse(resource: str, text: str) -> int:
    """Return a quantity such as "1500m" or "64Gi" in the unit of the resource, rounded down; the arithmetic is exact.

    Raises:
        ValueError: the text is not a quantity.
    """
    match = _QUANTITY.fullmatch(text)
    if match is None or not (match[1] or match[2]):
        raise ValueError(f'"{text}" is not a Kubernetes quantity')
    whole, fraction, exponent, suffix = match[1], match[2], int(match[3] or 0), match[4] or ""
    units, per_units = {"m": (1000, 1), "MiB": (1, 2**20), "": (1, 1)}[unit(resource)]
    numerator = int(whole + fraction + "0" * exponent) * _FACTORS.get(suffix, 1) * units
    denominator = int("1" + "0" * (len(fraction) - min(0, exponent))) * _DIVISORS.get(suffix, 1) * per_units
    return numerator // denominator


def canonical(resource: str, amount: int) -> str:
    """Return the canonical quantity of an amount: "2" for 2000 milli-CPU, "2Gi" for 2048 MiB."""
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
    """Return the sum of amounts by resource."""
    total: dict[str, int] = {}
    for part in amounts:
        for name, amount in part.items():
            total[name] = total.get(name, 0) + amount
    return total


def subtract(whole: Mapping[str, int], part: Mapping[str, int]) -> dict[str, int]:
    """Return each resource of `whole` less that of `part`, at least 0."""
    return {name: max(0, amount - part.get(name, 0)) for name, amount in whole.items()}


def fraction(whole: Mapping[str, int], numerator: int, denominator: int) -> dict[str, int]:
    """Return `whole` x numerator / denominator, rounded down to amounts that a pod can request: whole huge pages."""
    return {
        name: amount * numerator // denominator // _STEPS.get(name, 1) * _STEPS.get(name, 1)
        for name, amount in whole.items()
    }


def ordered(names: Iterable[str]) -> list[str]:
    """Return resource names in the order of every list of mlcluster: the native four, then the rest by name."""
    native = ("cpu", "memory", "ephemeral-storage", "pods")
    present = set(names)
    return [name for name in native if name in present] + sorted(present.difference(native))
