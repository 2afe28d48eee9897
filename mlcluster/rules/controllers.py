"""Rules on resources for controllers: all their pods fit together, on whichever nodes the scheduler puts them.

A pod stays Pending only while every node that it may use lacks some resource. A node lacks a resource if its pods
request at least `usable - the pod's request + 1` of it. This gives two upper bounds on the number of nodes that the
other controllers can close to the pod: a sum over resources, and a sum over pods, where each pod counts for the
resource of which it closes most. If the pod may use more nodes than the lower bound of the two, one is open in every
order of arrival.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from mlcluster.findings import Finding, finding
from mlcluster.plan.controllers import is_controller, takes
from mlcluster.plan.model import Amounts, Plan, PlanPod, Pool
from mlcluster.quantities import add, canonical
from mlcluster.spec.suggestions import listed

Sizes = Mapping[str, int]
"""Pool -> number of its nodes."""

_SHOWN = ("cpu", "memory", "pods")
_ROUNDING = 1e-9
"""Floating-point sums that fall short of a whole number by less than this count as it."""


def controllers_fit(plan: Plan) -> Iterator[Finding]:
    """SCH002, SCH003, SCH004: too few nodes for all controllers at the maximum size, at the minimum, or without one."""
    pods = [pod for pod in plan.pods if is_controller(pod)]
    most = {pool.name: pool.max_size for pool in plan.pools}
    least = {pool.name: pool.min_size for pool in plan.pools}
    waiting = without_room(plan.pools, pods, most)
    if waiting:
        yield _finding("SCH002", "at the maximum size", plan, pods, waiting, most)
        return
    at_start = [pod for pod in pods if any(pool.min_size and takes(pool, pod) for pool in plan.pools)]
    if plan.cluster.target == "eks" and (waiting := without_room(plan.pools, at_start, least)):
        yield _finding("SCH003", "at the minimum size", plan, pods, waiting, least)
    if plan.cluster.target == "local":
        return
    for pool in plan.pools:
        sizes = {**most, pool.name: pool.max_size - 1}
        left = [_as_many_as_nodes(pod, plan.pools, sizes) for pod in pods]
        if any(takes(pool, pod) for pod in pods) and (waiting := without_room(plan.pools, left, sizes)):
            yield _finding("SCH004", f"without one node of {pool.name}", plan, left, waiting, sizes)
            return


def _as_many_as_nodes(pod: PlanPod, pools: Sequence[Pool], sizes: Sizes) -> PlanPod:
    """Return the pod with at most one replica per node if its replicas must run on different nodes."""
    nodes = sum(sizes[pool.name] for pool in pools if takes(pool, pod))
    return replace(pod, replicas=max(1, min(pod.replicas, nodes))) if pod.apart else pod


def without_room(pools: Sequence[Pool], pods: Sequence[PlanPod], sizes: Sizes) -> list[PlanPod]:
    """Return the pods that the others can keep from every node. SCH001 reports pods that fit no pool."""
    homes = [frozenset(pool.name for pool in pools if takes(pool, pod)) for pod in pods]
    waiting = []
    for pod, mine in zip(pods, homes, strict=True):
        rivals = [other for other, theirs in zip(pods, homes, strict=True) if theirs & mine]
        others = [other.requests for other in rivals for _ in range(other.replicas)]
        open_to = [pool for pool in pools if pool.name in mine]
        if mine and sum(sizes[name] for name in mine) <= _closed(pod, others, open_to, sizes):
            waiting.append(pod)
    return waiting


def _closed(pod: PlanPod, replicas: Sequence[Amounts], pools: Sequence[Pool], sizes: Sizes) -> int:
    """Return the most nodes that all other replicas can close to one of this pod."""
    others = list(replicas)
    others.remove(pod.requests)
    needed = {
        name: sorted((pool.usable.get(name, 0) - amount + 1, sizes[pool.name]) for pool in pools)
        for name, amount in pod.requests.items()
    }
    by_resource = sum(_short_of_one(nodes, [one.get(name, 0) for one in others]) for name, nodes in needed.items())
    parts = (max(min(1.0, one.get(name, 0) / nodes[0][0]) for name, nodes in needed.items()) for one in others)
    return min(by_resource, int(sum(parts) + _ROUNDING)) + (pod.replicas - 1 if pod.apart else 0)


def _short_of_one(needed: Sequence[tuple[int, int]], requests: Sequence[int]) -> int:
    """Return the largest number of nodes that these requests can make short of one resource.

    Args:
        needed: (amount that closes a node, number of such nodes), the smallest amount first.
        requests: one per pod; a pod of any size closes one node.
    """
    most = before = spent = 0
    for amount, nodes in needed:
        usable = sum(min(request, amount) for request in requests)
        most = max(most, before + min(nodes, max(0, usable - spent) // amount))
        before, spent = before + nodes, spent + nodes * amount
    return most


def _all_replicas(pod: PlanPod) -> dict[str, int]:
    return {name: amount * pod.replicas for name, amount in pod.requests.items()}


def _finding(  # noqa: PLR0913, PLR0917 -- the finding, its condition, and the figures that prove it
    identifier: str, when: str, plan: Plan, pods: Sequence[PlanPod], waiting: Sequence[PlanPod], sizes: Sizes
) -> Finding:
    homes = [pool for pool in plan.pools if any(takes(pool, pod) for pod in waiting)]
    rivals = [pod for pod in pods if any(takes(pool, pod) for pool in homes)]
    total = add(*map(_all_replicas, rivals))
    nodes = "; ".join(f"{pool.name} {sizes[pool.name]} x ({_amounts(pool.usable)})" for pool in homes)
    names = listed(list(dict.fromkeys(pod.workload for pod in waiting)))
    return finding(
        identifier,
        homes[0].spec_path,
        f"{when}, controllers can fill the nodes so that some stay Pending. Together they request {_amounts(total)}; "
        f"the nodes that accept them have {nodes}. Pending: {names}",
        _HINTS[identifier].format(pool=homes[0].name),
    )


_HINTS = {
    "SCH002": "Give {pool} larger nodes, or a larger maxSize.",
    "SCH003": "Raise minSize of {pool}: these controllers wait until the autoscaler has started nodes.",
    "SCH004": "Give {pool} one more node, or larger nodes.",
}


def _amounts(amounts: Amounts) -> str:
    return ", ".join(f"{name} {canonical(name, amounts[name])}" for name in _SHOWN if amounts.get(name))
