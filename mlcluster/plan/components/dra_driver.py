"""The NVIDIA DRA driver: NVLink across nodes by claims, and GPUs where the spec says so (chart 0.5.0)."""

from typing import cast

from mlcluster.plan.components.charts import chart_release, daemon_set_pods, deployment_pod, realisation, release_id
from mlcluster.plan.components.component import PRIVILEGED, Contribution
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.gpu_daemons import on_pools
from mlcluster.plan.components.ownership import OPERATOR, served
from mlcluster.plan.components.system_nodes import controller_tolerations
from mlcluster.plan.model import Manifest, PlanPod
from mlcluster.plan.taints import daemon_set_tolerations, toleration_manifests
from mlcluster.spec.components.gpu import DraDriver

NAME = "dra-driver-nvidia-gpu"
NAMESPACE = "dra-driver-nvidia-gpu"

_SOURCE = "values.yaml of kubernetes-sigs/dra-driver-nvidia-gpu: resources of every container are empty"


def contribute(context: ComponentContext) -> Contribution:
    """The release: compute domains beside the device plugin, or GPUs in its place, never both of one node's GPUs."""
    if realisation(context, NAME) == "present":
        return Contribution(releases=(chart_release(context, NAME, {}),))
    release = chart_release(context, NAME, _values(context))
    return Contribution(releases=(release,), pods=tuple(_pods(context)), namespaces={NAMESPACE: PRIVILEGED})


def _settings(context: ComponentContext) -> DraDriver:
    return cast("DraDriver | None", context.settings(NAME)) or DraDriver()


def _values(context: ComponentContext) -> Manifest:
    asked = _settings(context)
    return {
        "resources": {"gpus": {"enabled": asked.gpus}, "computeDomains": {"enabled": asked.compute_domains}},
        # The chart fails without it: it asks whether there is a device plugin, and on these pools there is none.
        **({"gpuResourcesEnabledOverride": True} if asked.gpus else {}),
        "nvidiaDriverRoot": "/run/nvidia/driver" if served(context, OPERATOR, "driver") else "/",
        "controller": {"tolerations": toleration_manifests(controller_tolerations(context))},
        "kubeletPlugin": {
            "affinity": on_pools(context.gpu_pools),
            "tolerations": toleration_manifests(daemon_set_tolerations(context.spec, context.gpu_pools)),
        },
    }


def _pods(context: ComponentContext) -> list[PlanPod]:
    owner, made = release_id(NAME), []
    if _settings(context).compute_domains:
        made.append(
            deployment_pod(
                context,
                owner,
                f"{NAME}-controller",
                {},
                namespace=NAMESPACE,
                source=_SOURCE,
                spec_path=context.spec_path(NAME),
                priority_class="system-node-critical",
            )
        )
    plugin = f"{NAME}-kubelet-plugin"
    return [
        *made,
        *daemon_set_pods(context, owner, plugin, context.gpu_pools, {}, namespace=NAMESPACE, source=_SOURCE),
    ]
