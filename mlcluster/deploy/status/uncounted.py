"""Usage of a team's pods on nodes that Kueue does not count: evidence of work that bypasses the queue.

A ResourceQuota cannot limit this tightly (`plan.limits`), so `mlcluster status` compares. Workloads are read rather
than the usage in the ClusterQueue's status, which Kueue writes some time after it admits.
"""

from collections.abc import Iterable
from typing import Any

from mlcluster.kube.client import Kube
from mlcluster.kube.conditions import condition
from mlcluster.plan.objects import KUEUE_API
from mlcluster.quantities import add, canonical, ordered, parse

_LOOKS = 2
"""Number of comparisons. A pod may end between two lists, so only pods that every comparison finds are reported."""


def uncounted(kube: Kube, namespace: str, grace_seconds: int) -> dict[str, str]:
    """Return resource -> how much more the team's pods on nodes request than Kueue counts; {} if all is counted.

    Args:
        grace_seconds: Kueue releases quota when it evicts; a pod that is being deleted with a grace period of at most
            these seconds does not count.
    """
    found: dict[str, int] = {}
    for look in range(_LOOKS):
        more = _difference(kube, namespace, grace_seconds)
        found = more if look == 0 else {name: min(more[name], found[name]) for name in more if name in found}
        if not found:
            return {}
    return {name: canonical(name, found[name]) for name in ordered(found)}


def _difference(kube: Kube, namespace: str, grace_seconds: int) -> dict[str, int]:
    used = add(*(pod_requests(pod) for pod in kube.list("v1", "Pod", namespace) if _is_on_node(pod, grace_seconds)))
    counted = add(*(usage for entry in kube.list(KUEUE_API, "Workload", namespace) for usage in _usage(entry)))
    return {name: amount - counted.get(name, 0) for name, amount in used.items() if amount > counted.get(name, 0)}


def _is_on_node(pod: dict[str, Any], grace_seconds: int) -> bool:
    leaving = pod["metadata"].get("deletionTimestamp") is not None
    seconds = int(pod["metadata"].get("deletionGracePeriodSeconds") or 0)
    ended = (pod.get("status") or {}).get("phase") in {"Succeeded", "Failed"}
    return bool(pod["spec"].get("nodeName")) and not ended and not (leaving and seconds <= grace_seconds)


def pod_requests(pod: dict[str, Any]) -> dict[str, int]:
    """Return the requests of a pod: its own, the sum of its containers, or its largest init container.

    Amounts are rounded down, and sidecars among the init containers count one by one: never more than the scheduler.
    """
    spec = pod["spec"]
    together = add(*(_requests(container) for container in spec["containers"]))
    for first in map(_requests, spec.get("initContainers") or []):
        together |= {name: max(amount, together.get(name, 0)) for name, amount in first.items()}
    return {**{name: amount for name, amount in together.items() if not name.startswith("hugepages-")}, "pods": 1}


def _requests(container: dict[str, Any]) -> dict[str, int]:
    asked = (container.get("resources") or {}).get("requests") or {}
    return {name: parse(name, str(amount)) for name, amount in asked.items()}


def _usage(workload: dict[str, Any]) -> Iterable[dict[str, int]]:
    """Return the resources of each part of a workload that holds quota."""
    if condition(workload, "Finished").get("status") == "True":
        return
    admission = (workload.get("status") or {}).get("admission") or {}
    for part in admission.get("podSetAssignments") or []:
        usage = {name: parse(name, str(amount)) for name, amount in (part.get("resourceUsage") or {}).items()}
        yield {"pods": int(part.get("count") or 0), **usage}
