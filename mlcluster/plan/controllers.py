"""Resources that controllers may use on the nodes of teams.

The scheduler chooses the node of a controller's pod, and chooses again when a node is lost. So the plan counts the
worst case that the scheduler allows: on a pool, every replica that may run there; on one node, all of these together.
Replicas with anti-affinity to each other count once per node. Pods that every other pod preempts do not count.
"""

from collections.abc import Iterable
from dataclasses import replace

from mlcluster.plan.model import Amounts, PlanPod, Pool
from mlcluster.plan.overhead import lands_on
from mlcluster.quantities import add, subtract


def with_controllers(pools: Iterable[Pool], pods: Iterable[PlanPod]) -> tuple[Pool, ...]:
    """Return the pools, each with the most that controllers may use of it, and the rest of one node.

    Args:
        pools: with the requests of daemon sets already subtracted.
    """
    controllers = [pod for pod in pods if is_controller(pod)]
    return tuple(_less(pool, [pod for pod in controllers if takes(pool, pod)]) for pool in pools)


def is_controller(pod: PlanPod) -> bool:
    """Return whether the scheduler chooses the pod's node, and other pods do not preempt it."""
    return pod.kind != "DaemonSet" and not pod.yields


def takes(pool: Pool, pod: PlanPod) -> bool:
    """Return whether the pod fits an empty node of the pool."""
    return lands_on(pod, pool) and all(amount <= pool.usable.get(name, 0) for name, amount in pod.requests.items())


def _less(pool: Pool, pods: list[PlanPod]) -> Pool:
    on_all = add(*(_times(pod, min(pod.replicas, pool.max_size) if pod.apart else pod.replicas) for pod in pods))
    on_one = add(*(_times(pod, 1 if pod.apart else pod.replicas) for pod in pods))
    return replace(
        pool,
        controllers=_at_most(on_all, {name: amount * pool.max_size for name, amount in pool.usable.items()}),
        node_share=subtract(pool.usable, on_one),
    )


def _times(pod: PlanPod, count: int) -> dict[str, int]:
    return {name: amount * count for name, amount in pod.requests.items()}


def _at_most(amounts: Amounts, whole: Amounts) -> dict[str, int]:
    return {name: min(amounts[name], most) for name, most in whole.items() if amounts.get(name)}
