"""The cluster half of the local target: simulated nodes, registered as Node objects."""

from collections.abc import Iterable
from typing import Any, Protocol

import pulumi

from stacks.registration import Entry, Registered, cluster_provider, register, type_token


class SimulatedNode(Registered, Protocol):
    """A resource of the plan whose inputs are a whole Node object."""

    @property
    def inputs(self) -> dict[str, Any]: ...


class Plan(Protocol):
    """The part of a plan that this stack realises."""

    @property
    def resources(self) -> Iterable[SimulatedNode]: ...


def program(plan: Plan, *, kubeconfig: str, context: str | None, cluster_uid: str) -> None:
    """Registers the nodes; `kubeconfig` is a path, `cluster_uid` the UID of kube-system."""
    provider = cluster_provider(kubeconfig=kubeconfig, context=context, cluster_uid=cluster_uid)
    nodes = [Entry(node.id, type_token(node.inputs), node.inputs, node.needs) for node in plan.resources]
    register(nodes, provider)
    pulumi.export("clusterUid", cluster_uid)
