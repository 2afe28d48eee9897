"""The components of an `eks` cluster beside the queues: whatever scales its pools and offers their devices."""

from collections.abc import Callable
from typing import Any, NamedTuple

from mlcluster.plan.components import efa_device_plugin as efa
from mlcluster.plan.components import nvidia_device_plugin as nvidia
from mlcluster.plan.eks import cluster_autoscaler as ca
from mlcluster.plan.eks import headroom, karpenter
from mlcluster.plan.eks.context import EksContext
from mlcluster.plan.model import ComponentPlan, PlanObject, PlanPod, PlanRelease, PlanResource


def _nothing(_: EksContext) -> list[Any]:
    return []


class EksComponent(NamedTuple):
    """What a component adds to the plan; each function gives nothing where the spec does not want it."""

    pods: Callable[[EksContext], tuple[PlanPod, ...]]
    resources: Callable[[EksContext], list[PlanResource]] = _nothing
    releases: Callable[[EksContext], list[PlanRelease]] = _nothing
    objects: Callable[[EksContext], list[PlanObject]] = _nothing
    components: Callable[[EksContext], list[ComponentPlan]] = _nothing


COMPONENTS = (
    EksComponent(
        ca.cluster_autoscaler_pods,
        resources=ca.cluster_autoscaler_resources,
        releases=ca.cluster_autoscaler_releases,
        components=ca.cluster_autoscaler_components,
    ),
    EksComponent(
        karpenter.karpenter_pods,
        resources=karpenter.karpenter_resources,
        releases=karpenter.karpenter_releases,
        objects=karpenter.karpenter_objects,
        components=karpenter.karpenter_components,
    ),
    EksComponent(headroom.headroom_pods, objects=headroom.headroom_objects),
    EksComponent(
        efa.efa_device_plugin_pods,
        releases=efa.efa_device_plugin_releases,
        components=efa.efa_device_plugin_components,
    ),
    EksComponent(
        nvidia.nvidia_device_plugin_pods,
        releases=nvidia.nvidia_device_plugin_releases,
        components=nvidia.nvidia_device_plugin_components,
    ),
)
