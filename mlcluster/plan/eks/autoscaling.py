"""The components of an `eks` cluster beside the queues: whatever scales its pools and offers their devices."""

from collections.abc import Callable
from typing import NamedTuple

from mlcluster.plan.components import efa_device_plugin as efa
from mlcluster.plan.components import nvidia_device_plugin as nvidia
from mlcluster.plan.eks import cluster_autoscaler as ca
from mlcluster.plan.eks import headroom, karpenter
from mlcluster.plan.eks.context import EksContext
from mlcluster.plan.model import ComponentPlan, PlanObject, PlanPod, PlanRelease, PlanResource


class EksComponent(NamedTuple):
    """What a component adds to the plan; each function gives nothing where the spec does not want it."""

    resources: Callable[[EksContext], list[PlanResource]]
    releases: Callable[[EksContext], list[PlanRelease]]
    objects: Callable[[EksContext], list[PlanObject]]
    pods: Callable[[EksContext], tuple[PlanPod, ...]]
    components: Callable[[EksContext], list[ComponentPlan]]


COMPONENTS = (
    EksComponent(
        ca.cluster_autoscaler_resources,
        ca.cluster_autoscaler_releases,
        ca.cluster_autoscaler_objects,
        ca.cluster_autoscaler_pods,
        ca.cluster_autoscaler_components,
    ),
    EksComponent(
        karpenter.karpenter_resources,
        karpenter.karpenter_releases,
        karpenter.karpenter_objects,
        karpenter.karpenter_pods,
        karpenter.karpenter_components,
    ),
    EksComponent(
        headroom.headroom_resources,
        headroom.headroom_releases,
        headroom.headroom_objects,
        headroom.headroom_pods,
        headroom.headroom_components,
    ),
    EksComponent(
        efa.efa_device_plugin_resources,
        efa.efa_device_plugin_releases,
        efa.efa_device_plugin_objects,
        efa.efa_device_plugin_pods,
        efa.efa_device_plugin_components,
    ),
    EksComponent(
        nvidia.nvidia_device_plugin_resources,
        nvidia.nvidia_device_plugin_releases,
        nvidia.nvidia_device_plugin_objects,
        nvidia.nvidia_device_plugin_pods,
        nvidia.nvidia_device_plugin_components,
    ),
)
