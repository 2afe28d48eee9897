"""Common parts of GPU daemon sets: the nodes that they run on, and how Prometheus finds their metrics."""

from collections.abc import Iterable

from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.gpu_owners import OPERATOR, ownership
from mlcluster.plan.model import Manifest, Pool
from mlcluster.plan.observe.scrape import NODE_RELABELING, STACK, monitor_labels

_SHARED = frozenset({"timeSlicing", "mps"})


def runtime_class(context: ComponentContext, pools: Iterable[Pool]) -> Manifest:
    """Return the value by which a chart's pods run with NVIDIA's container runtime; {} where that is the default.

    The GPU operator's toolkit installs the runtime as the class `nvidia` and not as the default (v26.7.0,
    controllers/object_controls.go, `transformToolkitCtrForCDI`). The images of EKS have it as the default and no
    RuntimeClass (nodeadm's runtime_config_nvidia.go; containerd's configuration of Bottlerocket's NVIDIA variants). On
    other nodes the spec says so in `values`: pods with a class that does not exist are rejected.
    """
    table = ownership(context)
    by_operator = any(table[pool.name]["toolkit"] == OPERATOR for pool in pools)
    return {"runtimeClassName": "nvidia"} if by_operator else {}


def sharing_environment(pools: Iterable[Pool]) -> list[Manifest]:
    """Return the environment of a DCGM exporter; where pods share a GPU, it has to report each of them.

    One daemon set runs on all pools. Since 4.5.3-4.8.2 (NVIDIA/dcgm-exporter#594) GPUs that no pod holds keep their
    metrics under it, and a pod's DCGM_FI_DEV_GPU_UTIL and FB_USED are those of its processes: 0, as the exporter does
    not see the host's. `plan.observe` takes these two from the whole GPU.
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
