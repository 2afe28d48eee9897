"""Karpenter, which `plan.eks.karpenter` plans."""

from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.contribution import Contribution
from mlcluster.plan.eks import karpenter as eks


def contribute(context: ComponentContext) -> Contribution:
    """Return Karpenter's releases, pods and roles, and the objects of its pools."""
    on = context.eks()
    return Contribution(
        releases=tuple(eks.karpenter_releases(on)),
        objects=tuple(eks.karpenter_objects(on)),
        resources=tuple(eks.karpenter_resources(on)),
        pods=eks.karpenter_pods(on),
    )
