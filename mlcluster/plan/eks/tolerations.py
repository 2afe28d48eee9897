"""What pods of our components tolerate: the taints of the pools that they belong to."""

from collections.abc import Iterable

from mlcluster.plan import names
from mlcluster.plan.eks.context import EksContext
from mlcluster.plan.model import Pool
from mlcluster.plan.readiness import health_taints, startup_taints

Toleration = dict[str, str]
CRITICAL: Toleration = {"key": "CriticalAddonsOnly", "operator": "Exists"}


def pool_tolerations(pools: Iterable[Pool]) -> list[Toleration]:
    """Every taint of the pools, by key and effect, each once; values are left out, so that changing one is harmless."""
    return _once((taint.key, taint.effect) for pool in pools for taint in pool.taints)


def device_plugin_tolerations(context: EksContext, pools: Iterable[Pool]) -> list[Toleration]:
    """The accelerator taint, whoever set it, and every taint of the pools, startup taints among them.

    Whoever takes a startup taint off may wait for the very device that the plugin announces.
    """
    pools = tuple(pools)
    later = (
        taint
        for pool in pools
        for taint in (*startup_taints(context.spec, context.written(pool)), *health_taints(context.spec, pool))
    )
    return _once(
        [
            (names.ACCELERATOR_TAINT, "NoSchedule"),
            *((taint.key, taint.effect) for pool in pools for taint in pool.taints),
            *((taint.key, taint.effect) for taint in later),
        ]
    )


def _once(taints: Iterable[tuple[str, str]]) -> list[Toleration]:
    return [{"key": key, "operator": "Exists", "effect": effect} for key, effect in dict.fromkeys(taints)]
