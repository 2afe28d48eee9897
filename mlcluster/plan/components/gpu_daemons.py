"""Common parts of GPU daemon sets: the nodes that they run on, and the monitors of their metrics."""

from collections.abc import Iterable

from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.gpu_owners import OPERATOR, ownership
from mlcluster.plan.model import Manifest, Pool
from mlcluster.plan.observe.scrape import NODE_RELABELING, STACK, monitor_labels

_SHARED = frozenset({"timeSlicing", "mps"})


def runtime_class(context: ComponentContext, pools: Iterable[Pool]) -> Manifest:
    """Return the value by which a chart's pods run with NVIDIA's container runtime; {} if that is the default.

    The GPU operator's toolkit installs the runtime as the class `nvidia` and not as the default (v26.7.0,
    controllers/object_controls.go, `transformToolkitCtrForCDI`). The images of EKS have it as the default and no
    RuntimeClass (nodeadm's runtime_config_nvidia.go; containerd's configuration of Bottlerocket's NVIDIA variants). On
    other nodes the spec sets the class in `values`: the API server rejects pods with a class that does not exist.
    """
    table = ownership(context)
    by_operator = any(table[pool.name]["toolkit"] == OPERATOR for pool in pools)
    return {"runtimeClassName": "nvidia"} if by_operator else {}


def sharing_environment(pools: Iterable[Pool]) -> list[Manifest]:
    """Return the environment of a DCGM exporter; if pods share a GPU, the exporter has to report each pod.

    One daemon set runs on all pools. Since 4.5.3-4.8.2 (NVIDIA/dcgm-exporter#594) GPUs without a pod keep their metrics
    with this variable, and a pod's DCGM_FI_DEV_GPU_UTIL and FB_USED cover only its own processes: they are 0, because
    the exporter does not see the host's processes. `plan.observe` takes these two metrics from the whole GPU.
    """
    shared = any(pool.accelerator is not None and pool.accelerator.sharing in _SHARED for pool in pools)
    return [{"name": "KUBERNETES_VIRTUAL_GPUS", "value": "true"}] if shared else []


def service_monitor(context: ComponentContext) -> Manifest:
    """Return the values of a DCGM exporter's ServiceMonitor, the same in both charts; off without its CRD."""
    if not context.has(STACK):
        return {"enabled": False}
    labels = monitor_labels(context.spec)
    return {
        "enabled": True,
        "honorLabels": False,
        **({"additionalLabels": labels} if labels else {}),
        "relabelings": [dict(NODE_RELABELING)],
    }
