"""What pods of components tolerate, derived from the pools: there is no second list of taints."""

from collections.abc import Iterable

from mlcluster.plan import names
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.model import Pool
from mlcluster.plan.overhead import HARD_EFFECTS
from mlcluster.plan.readiness import health_taints, startup_taints
from mlcluster.plan.tolerations import CRITICAL, Toleration, tolerate


def daemon_set_tolerations(context: ComponentContext, pools: Iterable[Pool]) -> list[Toleration]:
    """For a daemon set that serves these pools: the accelerator taint, and every taint and startup taint of theirs.

    What the node readiness controller may put on them is among these. Values are left out, so that changing one is
    harmless. Whoever takes a startup taint off may wait for the very device that the daemon set announces.
    """
    pools = tuple(pools)
    return tolerate(
        [
            (names.ACCELERATOR_TAINT, "NoSchedule"),
            *((taint.key, taint.effect) for pool in pools for taint in pool.taints),
            *(
                (taint.key, taint.effect)
                for pool in pools
                for taint in startup_taints(context.spec, context.written(pool))
            ),
            *((taint.key, taint.effect) for pool in pools for taint in health_taints(context.spec, pool)),
        ]
    )


def system_pool(context: ComponentContext) -> Pool:
    """The pool whose nodes take what belongs to the cluster itself: without accelerators, never empty, least tainted.

    On `eks` one that is not Karpenter's. Where there is none such, the one that comes nearest.
    """
    if context.target == "eks":
        from mlcluster.plan.eks.addon_settings import system_pool as eks_system_pool

        return eks_system_pool(context.eks())
    return min(
        context.pools,
        key=lambda pool: (not pool.system_only, pool.accelerator is not None, sum(_hard(pool)), pool.min_size == 0),
    )


def controller_tolerations(context: ComponentContext) -> list[Toleration]:
    """For a controller: what lets it onto the system pool, and pools that are kept for critical add-ons."""
    taints = [taint for taint in system_pool(context).taints if taint.effect in HARD_EFFECTS]
    ours = [(taint.key, taint.effect) for taint in taints if taint.key != CRITICAL["key"]]
    return [dict(CRITICAL), *tolerate(ours)]


def _hard(pool: Pool) -> Iterable[bool]:
    return (taint.effect in HARD_EFFECTS for taint in pool.taints)
