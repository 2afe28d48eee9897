"""The NVIDIA DRA driver: NVLink across nodes by claims, and GPUs by claims if the spec enables them (chart 0.5.0).

It serves compute domains beside the device plugin, or GPUs instead of it, never both for the GPUs of one node.
"""

from collections.abc import Iterator

from mlcluster.plan.components.chart_component import ChartComponent
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.contribution import PRIVILEGED
from mlcluster.plan.components.daemon_sets import pool_affinity
from mlcluster.plan.components.gpu_owners import OPERATOR, served
from mlcluster.plan.components.system_pool import controller_tolerations
from mlcluster.plan.components.workloads import NODE_CRITICAL, Workload, daemon_set_pods, workload_pod
from mlcluster.plan.model import Manifest, PlanPod
from mlcluster.plan.taints import daemon_set_tolerations, toleration_manifests
from mlcluster.spec.components.gpu import DraDriver

NAME = "dra-driver-nvidia-gpu"
_SOURCE = "values.yaml of kubernetes-sigs/dra-driver-nvidia-gpu: resources of every container are empty"
_CONTROLLER = Workload(f"{NAME}-controller", priority_class=NODE_CRITICAL, source=_SOURCE)
_PLUGIN = Workload(f"{NAME}-kubelet-plugin", kind="DaemonSet", priority_class=NODE_CRITICAL, source=_SOURCE)


def _settings(context: ComponentContext) -> DraDriver:
    return context.spec.components.dra_driver or DraDriver()


def _values(context: ComponentContext) -> Manifest:
    settings = _settings(context)
    return {
        "resources": {"gpus": {"enabled": settings.gpus}, "computeDomains": {"enabled": settings.compute_domains}},
        # Without this value the chart fails, as a guard against a device plugin beside it; these pools have none.
        **({"gpuResourcesEnabledOverride": True} if settings.gpus else {}),
        "nvidiaDriverRoot": "/run/nvidia/driver" if served(context, OPERATOR, "driver") else "/",
        "controller": {"tolerations": toleration_manifests(controller_tolerations(context))},
        "kubeletPlugin": {
            "affinity": pool_affinity(context.gpu_pools),
            "tolerations": toleration_manifests(daemon_set_tolerations(context.spec, context.gpu_pools)),
        },
    }


def _pods(context: ComponentContext) -> Iterator[PlanPod]:
    if _settings(context).compute_domains:
        yield workload_pod(context, NAME, _CONTROLLER)
    yield from daemon_set_pods(context, NAME, _PLUGIN, context.gpu_pools)


COMPONENT = ChartComponent(
    name=NAME,
    values=_values,
    pods=_pods,
    namespaces={NAME: PRIVILEGED},
    awaits_existing=False,
)
contribute = COMPONENT.contribute
