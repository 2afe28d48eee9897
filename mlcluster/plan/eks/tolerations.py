"""What pods of our components tolerate: the taints of the pools that they belong to."""

from collections.abc import Iterable

from mlcluster.plan.model import Pool

Toleration = dict[str, str]
CRITICAL: Toleration = {"key": "CriticalAddonsOnly", "operator": "Exists"}


def pool_tolerations(pools: Iterable[Pool]) -> list[Toleration]:
    """Every taint of the pools, by key and effect, each once; values are left out, so that changing one is harmless."""
    return _once((taint.key, taint.effect) for pool in pools for taint in pool.taints)


def _once(taints: Iterable[tuple[str, str]]) -> list[Toleration]:
    return [{"key": key, "operator": "Exists", "effect": effect} for key, effect in dict.fromkeys(taints)]
