"""Pods of the GPU operator: its controller, NFD, Helm's hook jobs, and every operand on every pool that has it."""

from collections.abc import Iterable

from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.gpu_operator_values import brings_feature_discovery
from mlcluster.plan.components.gpu_owners import OPERATOR, served
from mlcluster.plan.components.workloads import NODE_CRITICAL, Workload, daemon_set_pods, workload_pod
from mlcluster.plan.model import PlanPod, Pool, Toleration
from mlcluster.plan.taints import daemon_set_tolerations
from mlcluster.spec.gpu_duties import Duty

NAMESPACE = "gpu-operator"

_VALUES = "values.yaml of NVIDIA/gpu-operator v26.7.0"
_NOTHING = f"{_VALUES}: resources is empty, and the operator's own manifests have no requests"
_NFD = "values.yaml of node-feature-discovery 0.19.0, the chart inside the chart"
_NFD_NAME = f"{OPERATOR}-node-feature-discovery"
_HOOKS = "templates/ of NVIDIA/gpu-operator v26.7.0: a Helm hook without requests"
_VALIDATION = "validator/manifests of NVIDIA/gpu-operator v26.7.0: a pod without requests, once on each new node"

_OPERANDS: tuple[tuple[Duty, str], ...] = (
    ("driver", "nvidia-driver-daemonset"),
    ("toolkit", "nvidia-container-toolkit-daemonset"),
    ("devicePlugin", "nvidia-device-plugin-daemonset"),
    ("gpuFeatureDiscovery", "gpu-feature-discovery"),
    ("migManager", "nvidia-mig-manager"),
    ("dcgmExporter", "nvidia-dcgm-exporter"),
    ("validator", "nvidia-operator-validator"),
)


_CONTROLLERS = (
    Workload(
        OPERATOR,
        {"cpu": "200m", "memory": "100Mi"},
        priority_class=NODE_CRITICAL,
        source=f"{_VALUES}: operator.resources",
    ),
    *(
        Workload(f"{OPERATOR}-{job}", kind="Job", priority_class="", source=_HOOKS)
        for job in ("cleanup-gpucluster", "upgrade-crd")
    ),
)
"""The controller, and the jobs that Helm runs before or after an installation, upgrade or uninstallation."""

_NFD_CONTROLLERS = (
    Workload(f"{_NFD_NAME}-master", {"cpu": "100m", "memory": "128Mi"}, priority_class=NODE_CRITICAL, source=_NFD),
    Workload(f"{_NFD_NAME}-gc", {"cpu": "10m", "memory": "128Mi"}, priority_class=NODE_CRITICAL, source=_NFD),
    Workload(f"{_NFD_NAME}-prune", {"cpu": "100m", "memory": "128Mi"}, kind="Job", priority_class="", source=_NFD),
)
_NFD_WORKER = Workload(
    f"{_NFD_NAME}-worker",
    {"cpu": "5m", "memory": "64Mi"},
    kind="DaemonSet",
    priority_class=NODE_CRITICAL,
    source=_NFD,
)
_VALIDATOR = Workload("nvidia-cuda-validator", kind="Job", priority_class="", source=_VALIDATION)


def operator_pods(context: ComponentContext) -> tuple[PlanPod, ...]:
    """Return every pod of the GPU operator.

    Operands have no requests upstream, and are node critical so that the kubelet does not evict them.
    """
    tolerations = daemon_set_tolerations(context.spec, context.gpu_pools)
    operands = (
        *((name, served(context, OPERATOR, duty)) for duty, name in _OPERANDS),
        ("nvidia-device-plugin-mps-control-daemon", _with_mps(context)),
    )
    return (
        *(workload_pod(context, OPERATOR, workload) for workload in _CONTROLLERS),
        *(_feature_discovery(context, tolerations) if brings_feature_discovery(context) else ()),
        *(
            pod
            for name, pools in operands
            for pod in daemon_set_pods(context, OPERATOR, _operand(name), pools, tolerations=tolerations)
        ),
        *_validations(context, tolerations),
    )


def _feature_discovery(context: ComponentContext, tolerations: tuple[Toleration, ...]) -> Iterable[PlanPod]:
    """Yield the pods of NFD; its worker runs on every node that it tolerates, because it detects the GPUs."""
    for workload in _NFD_CONTROLLERS:
        yield workload_pod(context, OPERATOR, workload)
    yield workload_pod(context, OPERATOR, _NFD_WORKER, tolerations=tolerations)


def _operand(name: str) -> Workload:
    return Workload(name, kind="DaemonSet", priority_class=NODE_CRITICAL, source=_NOTHING)


def _with_mps(context: ComponentContext) -> list[Pool]:
    pools = served(context, OPERATOR, "devicePlugin")
    return [pool for pool in pools if pool.accelerator is not None and pool.accelerator.sharing == "mps"]


def _validations(context: ComponentContext, tolerations: tuple[Toleration, ...]) -> Iterable[PlanPod]:
    """Yield the pod that the validator starts on each node, to run a CUDA program, and waits for."""
    for pool in served(context, OPERATOR, "validator"):
        yield workload_pod(
            context,
            OPERATOR,
            _VALIDATOR,
            spec_path=pool.spec_path,
            pool=pool.name,
            tolerations=tolerations,
            node_selector=pool.selector,
        )
