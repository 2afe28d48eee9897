"""Stop ClusterQueues before the objects that they admit are deleted."""

from collections.abc import Iterable

from mlcluster.kube.client import Kube
from mlcluster.kube.errors import ApiError
from mlcluster.plan.objects import KUEUE_API
from mlcluster.progress import Progress
from mlcluster.waiting import wait_while

DRAIN_SECONDS = 60.0


def hold_queues(kube: Kube, queues: Iterable[str], progress: Progress) -> None:
    """Stop each ClusterQueue and wait until it admits nothing any more.

    A queue that does not drain in time is reported and ends the wait: its workloads are deleted with their namespace.
    """
    held = [name for name in queues if _hold(kube, name)]
    if not held:
        return
    with progress.task(f"draining {', '.join(held)}") as task:
        admitted = wait_while(
            lambda: sum(_admitted(kube, name) for name in held),
            DRAIN_SECONDS,
            lambda count: task.update(f"{count} workloads still admitted"),
            pause=0.2,
        )
    if admitted:
        progress.say("some workloads did not stop in time; they are deleted with their namespaces")


def _hold(kube: Kube, name: str) -> bool:
    if kube.get_object(KUEUE_API, "ClusterQueue", name) is None:
        return False
    kube.patch(KUEUE_API, "ClusterQueue", name, {"spec": {"stopPolicy": "HoldAndDrain"}})
    return True


def _admitted(kube: Kube, name: str) -> int:
    try:
        queue = kube.get_object(KUEUE_API, "ClusterQueue", name) or {}
    except ApiError:
        return 0
    status = queue.get("status") or {}
    return max(int(status.get(key) or 0) for key in ("admittedWorkloads", "reservingWorkloads"))
