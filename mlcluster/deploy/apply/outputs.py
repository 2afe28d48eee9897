"""The result of `up`: kubeconfig, queues, and the next steps."""

from typing import Any

from mlcluster.deploy.session.cluster import LiveCluster
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.plan import names
from mlcluster.plan.queues import queued_teams


def outputs_document(workspace: Workspace, live: LiveCluster, changed: int) -> dict[str, Any]:
    """Return the result as data."""
    return {
        "cluster": workspace.spec.metadata.name,
        "kubeconfig": live.kubeconfig,
        "context": live.context,
        "changed": changed,
        "queues": [
            {"team": team.name, "namespace": team.namespace, "localQueue": names.LOCAL_QUEUE, "clusterQueue": team.name}
            for team in queued_teams(workspace.plan)
        ],
    }


def outputs_text(workspace: Workspace, live: LiveCluster) -> str:
    """Return the result for people, with the next commands."""
    cluster = workspace.spec.metadata.name
    kubectl = "kubectl" if live.lab is None else f"mlcluster lab kubectl --name {live.lab.name} --"
    lines = [f"{cluster} is up.", "", f"  kubeconfig   {live.kubeconfig}"]
    lines += [f"  context      {live.context}"] if live.context else []
    lines += [
        f"  queue        {names.LOCAL_QUEUE} in namespace {team.namespace}" for team in queued_teams(workspace.plan)[:8]
    ]
    hidden = len(queued_teams(workspace.plan)) - 8
    lines += [f"  ... and {hidden} more teams"] if hidden > 0 else []
    lines += [
        "",
        "Next:",
        f"  export KUBECONFIG={live.kubeconfig}",
        f"  {kubectl} get nodes,clusterqueues",
        f"  mlcluster status {workspace.path}",
        f"  mlcluster down {workspace.path}",
    ]
    return "\n".join(lines)
