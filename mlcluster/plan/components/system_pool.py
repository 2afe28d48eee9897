"""The pool that controllers must be able to run on, and the tolerations that follow."""

from mlcluster.plan import taints
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.model import Pool, Toleration
from mlcluster.plan.taints import HARD_EFFECTS


def system_pool(context: ComponentContext) -> Pool:
    """Return the pool whose nodes controllers must be able to run on: without accelerators, never empty, few taints.

    On `eks` it is a managed node group. If no pool meets all of these conditions, return the closest pool.
    """
    if context.target == "eks":
        from mlcluster.plan.eks.addon_settings import system_pool as eks_system_pool

        return eks_system_pool(context.eks())
    return min(
        context.pools,
        key=lambda pool: (
            not pool.system_only,
            pool.accelerator is not None,
            sum(taint.effect in HARD_EFFECTS for taint in pool.taints),
            pool.min_size == 0,
        ),
    )


def controller_tolerations(context: ComponentContext) -> tuple[Toleration, ...]:
    """Return the tolerations of the controllers of this cluster."""
    return taints.controller_tolerations(system_pool(context))
