"""EC2 warm pools of managed node groups.

Source: Amazon EKS user guide "Decrease latency for applications with long boot times using warm pools with managed
node groups": EKS makes and owns the warm pool, so it is an input of the node group and not a separate resource.
"""

from mlcluster.plan.eks.context import EksContext
from mlcluster.plan.model import Manifest, Pool


def warm_pool_config(context: EksContext, pool: Pool) -> Manifest:
    """Return `warmPoolConfig` of a node group; {} without a warm pool."""
    written = context.spec_pool(pool)
    warm = written.warm_pool
    if warm is None:
        return {}
    # Bottlerocket nodes cannot return to the warm pool.
    reuse = warm.reuse_on_scale_in and written.ami.family != "bottlerocket"
    most = pool.max_size if warm.max_prepared is None else warm.max_prepared
    return {
        "minSize": warm.min_size,
        "maxGroupPreparedCapacity": most,
        "poolState": warm.state.upper(),
        "reuseOnScaleIn": reuse,
    }
