"""What `up` says at the end: where the cluster is, which queues it has, what to do next."""

from typing import Any

from mlcluster.plan import names
from mlcluster.plan.queues import queued_teams
from mlcluster.verbs.live import LiveCluster
from mlcluster.verbs.reading import Reading


def outputs_document(reading: Reading, live: LiveCluster, changed: int) -> dict[str, Any]:
    """The result as data."""
    return {
        "cluster": reading.spec.metadata.name,
        "kubeconfig": live.kubeconfig,
        "context": live.context,
        "changed": changed,
        "queues": [
            {"team": team.name, "namespace": team.namespace, "localQueue": names.LOCAL_QUEUE, "clusterQueue": team.name}
            for team in queued_teams(reading.plan)
        ],
    }


def outputs_text(reading: Reading, live: LiveCluster) -> str:
    """The result for people, with the next commands."""
    cluster = reading.spec.metadata.name
    kubectl = "kubectl" if live.lab is None else f"mlcluster lab kubectl --name {live.lab.name} --"
    lines = [f"{cluster} is up.", "", f"  kubeconfig   {live.kubeconfig}"]
    lines += [f"  context      {live.context}"] if live.context else []
    lines += [
        f"  queue        {names.LOCAL_QUEUE} in namespace {team.namespace}" for team in queued_teams(reading.plan)[:8]
    ]
    hidden = len(queued_teams(reading.plan)) - 8
    lines += [f"  ... and {hidden} more teams"] if hidden > 0 else []
    lines += [
        "",
        "Next:",
        f"  export KUBECONFIG={live.kubeconfig}",
        f"  {kubectl} get nodes,clusterqueues",
        f"  mlcluster status {reading.path}",
        f"  mlcluster down {reading.path}",
    ]
    return "\n".join(lines)
