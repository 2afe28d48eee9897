"""Requests of daemon sets on each node, and whether a pod may run on the nodes of a pool."""

from collections.abc import Iterable
from dataclasses import replace

from mlcluster.plan.model import PlanPod, Pool
from mlcluster.plan.taints import untolerated
from mlcluster.quantities import add, subtract


def with_daemon_sets(pools: Iterable[Pool], pods: Iterable[PlanPod]) -> tuple[Pool, ...]:
    """Return the pools, each with the requests of the daemon sets on its nodes subtracted."""
    daemons = [pod for pod in pods if pod.kind == "DaemonSet"]
    return tuple(_less(pool, [pod for pod in daemons if lands_on(pod, pool)]) for pool in pools)


def lands_on(pod: PlanPod, pool: Pool) -> bool:
    """Return whether selector, affinity and tolerations admit the pod to the pool's nodes, which may be full."""
    return not refusal(pod, pool)


def refusal(pod: PlanPod, pool: Pool) -> str:
    """Return why a pod may not run on a pool's nodes, as words after the pool's name; "" when it may."""
    if pool.name in pod.not_on:
        return "is refused by its node affinity"
    if any(pool.labels.get(key) != value for key, value in pod.node_selector.items()):
        return "has other labels"
    refusing = untolerated(pod.tolerations, pool.taints)
    return f"has the taint {refusing[0].key}" if refusing else ""


def _less(pool: Pool, pods: list[PlanPod]) -> Pool:
    taken = add(*(pod.requests for pod in pods))
    overhead = add(pool.overhead, taken)
    return replace(
        pool,
        overhead={name: amount for name, amount in overhead.items() if amount},
        usable=subtract(pool.allocatable, overhead),
    )
