"""Pods of the GPU operator: its controller, NFD, Helm's hook jobs, and every operand on every pool that has it."""

from collections.abc import Iterable

from mlcluster.plan.components.charts import controller_pod, daemon_set_pods, deployment_pod, release_id
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.gpu_operator_values import brings_feature_discovery
from mlcluster.plan.components.ownership import OPERATOR, served
from mlcluster.plan.model import PlanPod, Pool
from mlcluster.plan.taints import daemon_set_tolerations
from mlcluster.spec.gpu_duties import Duty

NAMESPACE = "gpu-operator"

_OWNER = release_id(OPERATOR)
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


def operator_pods(context: ComponentContext) -> tuple[PlanPod, ...]:
    """Every pod; operands request nothing upstream, and are node critical so that the kubelet does not evict them."""
    return (
        _controller(context, "gpu-operator", {"cpu": "200m", "memory": "100Mi"}, f"{_VALUES}: operator.resources"),
        *(_hook(context, f"{OPERATOR}-{job}", {}, _HOOKS) for job in ("cleanup-gpucluster", "upgrade-crd")),
        *(_feature_discovery(context) if brings_feature_discovery(context) else ()),
        *(pod for duty, name in _OPERANDS for pod in _operand(context, name, served(context, OPERATOR, duty))),
        *_operand(context, "nvidia-device-plugin-mps-control-daemon", _with_mps(context)),
        *_validations(context),
    )


def _controller(context: ComponentContext, name: str, requests: dict[str, str], source: str) -> PlanPod:
    return controller_pod(context, OPERATOR, name, requests, source=source, priority_class="system-node-critical")


def _hook(context: ComponentContext, name: str, requests: dict[str, str], source: str) -> PlanPod:
    """A job that Helm runs before or after it installs, upgrades or uninstalls, and waits for."""
    return controller_pod(context, OPERATOR, name, requests, source=source, priority_class="", kind="Job")


def _feature_discovery(context: ComponentContext) -> Iterable[PlanPod]:
    """The worker goes to every node that it tolerates, with GPUs or without: it is what finds out."""
    yield _controller(context, f"{_NFD_NAME}-master", {"cpu": "100m", "memory": "128Mi"}, _NFD)
    yield _controller(context, f"{_NFD_NAME}-gc", {"cpu": "10m", "memory": "128Mi"}, _NFD)
    yield _hook(context, f"{_NFD_NAME}-prune", {"cpu": "100m", "memory": "128Mi"}, _NFD)
    yield PlanPod(
        owner=_OWNER,
        kind="DaemonSet",
        namespace=NAMESPACE,
        node_selector={},
        tolerations=daemon_set_tolerations(context.spec, context.gpu_pools),
        requests={"cpu": 5, "memory": 64, "pods": 1},
        priority_class="system-node-critical",
        evidence="declared",
        source=_NFD,
        spec_path=context.spec_path(OPERATOR),
        name=f"{_NFD_NAME}-worker",
    )


def _with_mps(context: ComponentContext) -> list[Pool]:
    pools = served(context, OPERATOR, "devicePlugin")
    return [pool for pool in pools if pool.accelerator is not None and pool.accelerator.sharing == "mps"]


def _operand(context: ComponentContext, name: str, pools: Iterable[Pool]) -> tuple[PlanPod, ...]:
    return daemon_set_pods(
        context,
        _OWNER,
        name,
        pools,
        {},
        namespace=NAMESPACE,
        source=_NOTHING,
        tolerations=daemon_set_tolerations(context.spec, context.gpu_pools),
    )


def _validations(context: ComponentContext) -> Iterable[PlanPod]:
    """The pod that the validator starts on each node to run a CUDA program; it waits until the pod has ended."""
    for pool in served(context, OPERATOR, "validator"):
        yield deployment_pod(
            context,
            _OWNER,
            "nvidia-cuda-validator",
            {},
            namespace=NAMESPACE,
            source=_VALIDATION,
            spec_path=pool.spec_path,
            tolerations=daemon_set_tolerations(context.spec, context.gpu_pools),
            priority_class="",
            kind="Job",
            node_selector=pool.selector,
        )
