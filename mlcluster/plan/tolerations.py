"""Tolerations by key and effect: values are left out, so that changing one is harmless."""

from collections.abc import Iterable

from mlcluster.plan.model import Pool

Toleration = dict[str, str]
CRITICAL: Toleration = {"key": "CriticalAddonsOnly", "operator": "Exists"}


def pool_tolerations(pools: Iterable[Pool]) -> list[Toleration]:
    """Every taint of the pools, each once."""
    return tolerate((taint.key, taint.effect) for pool in pools for taint in pool.taints)


def tolerate(taints: Iterable[tuple[str, str]]) -> list[Toleration]:
    """Of (key, effect) pairs, each once and in their order."""
    return [{"key": key, "operator": "Exists", "effect": effect} for key, effect in dict.fromkeys(taints)]
