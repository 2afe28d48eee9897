"""The Kubernetes half of a cluster, the same for every target: what the plan holds, registered."""

from collections.abc import Iterable
from typing import Protocol

import pulumi

from stacks.registration import KubernetesObject, Release, cluster_provider, platform_entries, register


class Plan(Protocol):
    """The part of a plan that this stack realises."""

    @property
    def objects(self) -> Iterable[KubernetesObject]: ...
    @property
    def releases(self) -> Iterable[Release]: ...


def program(plan: Plan, *, kubeconfig: str, context: str | None, cluster_uid: str) -> None:
    """Registers releases and objects; `kubeconfig` is a path, `cluster_uid` the UID of kube-system.

    The UID is exported: any machine that opens the stack can tell which cluster it belongs to.
    """
    provider = cluster_provider(kubeconfig=kubeconfig, context=context, cluster_uid=cluster_uid)
    entries, elsewhere = platform_entries(plan.objects, plan.releases)
    register(entries, provider, elsewhere)
    pulumi.export("clusterUid", cluster_uid)
