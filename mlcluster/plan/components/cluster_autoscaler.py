"""The Cluster Autoscaler, which `plan.eks.cluster_autoscaler` plans."""

from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.contribution import Contribution
from mlcluster.plan.eks import cluster_autoscaler as eks


def contribute(context: ComponentContext) -> Contribution:
    """Return the release of the Cluster Autoscaler, its pod and its role."""
    on = context.eks()
    return Contribution(
        releases=tuple(eks.cluster_autoscaler_releases(on)),
        resources=tuple(eks.cluster_autoscaler_resources(on)),
        pods=eks.cluster_autoscaler_pods(on),
    )
