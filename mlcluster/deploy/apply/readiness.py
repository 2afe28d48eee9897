"""After the engine is done: wait until the nodes are ready and the queues admit."""

from typing import Any

from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.kube.conditions import condition, message
from mlcluster.plan import names
from mlcluster.plan.model import Plan
from mlcluster.plan.objects import KUEUE_API
from mlcluster.plan.queues import queued_teams
from mlcluster.progress import Progress
from mlcluster.waiting import wait_while

PATIENCE_SECONDS = 120.0
CLOUD_PATIENCE_SECONDS = 900.0
"""On `eks` the first nodes may still be pulling images."""


def wait_until_settled(plan: Plan, kube: Kube, progress: Progress) -> None:
    """Return when every simulated node is Ready and every ClusterQueue of the plan is Active.

    Raises:
        MlclusterError: an object is not ready after two minutes (fifteen on `eks`); names it and the reason.
    """
    patience = CLOUD_PATIENCE_SECONDS if plan.cluster.target == "eks" else PATIENCE_SECONDS
    with progress.task("waiting for nodes and queues") as task:
        left = wait_while(lambda: unsettled(plan, kube), patience, lambda waiting: task.update(waiting[0]))
        if left:
            happened = "; ".join(left[:3])
            raise MlclusterError("waiting for nodes and queues", happened, "run up again, or see mlcluster status")


def unsettled(plan: Plan, kube: Kube) -> list[str]:
    """Return a sentence for each node and queue that is not ready, with its reason."""
    selector = f"{names.CLUSTER}={plan.cluster.name}"
    found: list[str] = []
    if plan.simulated_nodes:
        nodes = {node["metadata"]["name"]: node for node in kube.list("v1", "Node", label_selector=selector)}
        found += [f"node {name} is not ready" for name in plan.simulated_nodes if not _is(nodes.get(name), "Ready")]
    teams = queued_teams(plan)
    if teams:
        queues = {queue["metadata"]["name"]: queue for queue in kube.list(KUEUE_API, "ClusterQueue", None, selector)}
        for team in teams:
            if not _is(queues.get(team.name), "Active"):
                found.append(f"queue {team.name} is not active: {message(queues.get(team.name), 'Active')}")
    return found


def _is(found: dict[str, Any] | None, kind: str) -> bool:
    return condition(found, kind).get("status") == "True"
