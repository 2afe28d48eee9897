"""The cluster half of the local target: simulated nodes, registered as Node objects."""

import pulumi

from mlcluster.plan.model import Plan
from stacks.registration import Entry, cluster_provider, register, type_token


def program(plan: Plan, *, kubeconfig: str, context: str | None, cluster_uid: str) -> None:
    """Registers the nodes; `kubeconfig` is a path, `cluster_uid` the UID of kube-system."""
    provider = cluster_provider(kubeconfig=kubeconfig, context=context, cluster_uid=cluster_uid)
    nodes = [Entry(node.id, type_token(node.inputs), node.inputs, node.needs) for node in plan.resources]
    register(nodes, provider)
    pulumi.export("clusterUid", cluster_uid)
