"""What daemon sets take of a node before pods of teams get anything."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from mlcluster.plan.model import PlanPod, Pool, Taint
from mlcluster.plan.quantities import add, subtract

HARD_EFFECTS = frozenset({"NoSchedule", "NoExecute"})


def with_daemon_sets(pools: Iterable[Pool], pods: Iterable[PlanPod]) -> tuple[Pool, ...]:
    """The pools, each less what the daemon sets that land on its nodes request."""
    daemons = [pod for pod in pods if pod.kind == "DaemonSet"]
    return tuple(_less(pool, [pod for pod in daemons if lands_on(pod, pool)]) for pool in pools)


def lands_on(pod: PlanPod, pool: Pool) -> bool:
    """Whether selector, affinity and tolerations let the pod onto the pool's nodes; room is another question."""
    return not refusal(pod, pool)


def refusal(pod: PlanPod, pool: Pool) -> str:
    """Return why a pod may not run on a pool's nodes, as words after the pool's name; "" when it may."""
    if pool.name in pod.not_on:
        return "is refused by its node affinity"
    if any(pool.labels.get(key) != value for key, value in pod.node_selector.items()):
        return "has other labels"
    hard = [taint for taint in pool.taints if taint.effect in HARD_EFFECTS]
    refused = [taint.key for taint in hard if not any(tolerates(toleration, taint) for toleration in pod.tolerations)]
    return f"has the taint {refused[0]}" if refused else ""


def tolerates(toleration: Mapping[str, str], taint: Taint) -> bool:
    """The API's own rule: an empty key with Exists matches all, an empty effect matches every effect."""
    if toleration.get("effect", "") not in {"", taint.effect}:
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return toleration.get("key", "") in {"", taint.key}
    return toleration.get("key", "") == taint.key and toleration.get("value", "") == taint.value


def _less(pool: Pool, pods: list[PlanPod]) -> Pool:
    taken = add(*(pod.requests for pod in pods))
    overhead = add(pool.overhead, taken)
    return replace(
        pool,
        overhead={name: amount for name, amount in overhead.items() if amount},
        usable=subtract(pool.allocatable, overhead),
    )
