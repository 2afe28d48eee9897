"""The Kubernetes half of a cluster, the same for every target: what the plan holds, registered."""

import pulumi

from mlcluster.plan.model import Plan
from stacks.readiness import Ready
from stacks.references import Values
from stacks.registration import cluster_provider, gated_releases, platform_entries, register


def program(  # noqa: PLR0913 - which cluster, and what is known of it
    plan: Plan,
    *,
    kubeconfig: str,
    context: str | None,
    cluster_uid: str,
    values: Values | None = None,
    ready: Ready | None = None,
) -> None:
    """Registers releases and objects.

    The cluster's UID is exported: any machine that opens the stack can tell which cluster it belongs to.

    Args:
        plan: what to register.
        kubeconfig: path of the file.
        context: context of the file, None for its current one.
        cluster_uid: UID of the kube-system namespace.
        values: the output `values` of the cloud's stack, for the references in manifests and release values.
        ready: returns when a release answers; what needs the release is registered then. None: as soon as it is there.
    """
    provider = cluster_provider(kubeconfig=kubeconfig, context=context, cluster_uid=cluster_uid)
    entries, elsewhere = platform_entries(plan.objects, plan.releases, values, plan.immutable)
    register(entries, provider, elsewhere, gated_releases([*plan.releases, *plan.defining_objects], ready))
    pulumi.export("clusterUid", cluster_uid)
