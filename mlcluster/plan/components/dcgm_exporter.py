"""The standalone DCGM exporter: GPU metrics on clusters without the GPU operator's exporter (chart 4.8.2)."""

from collections.abc import Iterable

from mlcluster.plan.components.chart_component import ChartComponent
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.contribution import PRIVILEGED
from mlcluster.plan.components.daemon_sets import pool_affinity
from mlcluster.plan.components.gpu_daemons import runtime_class, service_monitor, sharing_environment
from mlcluster.plan.components.gpu_owners import served
from mlcluster.plan.components.workloads import NODE_CRITICAL, Workload, daemon_set_pods
from mlcluster.plan.model import Manifest, PlanPod, Pool
from mlcluster.plan.observe.counters import dcgm_counters_csv
from mlcluster.plan.taints import daemon_set_tolerations, toleration_manifests

NAME = "dcgm-exporter"
REQUESTS = {"cpu": "100m", "memory": "128Mi"}
"""The chart's own requests."""

_EXPORTER = Workload(
    NAME,
    REQUESTS,
    kind="DaemonSet",
    priority_class=NODE_CRITICAL,
    source="values.yaml of NVIDIA/dcgm-exporter 4.5.3-4.8.2: resources.requests",
)


def _pools(context: ComponentContext) -> tuple[Pool, ...]:
    """Return the pools with GPUs: by default the chart runs on every node, and fails on nodes without GPUs."""
    return served(context, NAME, "dcgmExporter")


def _values(context: ComponentContext) -> Manifest:
    pools = _pools(context)
    env = sharing_environment(pools)
    return {
        "affinity": pool_affinity(pools),
        "tolerations": toleration_manifests(daemon_set_tolerations(context.spec, pools)),
        "resources": {"requests": REQUESTS},
        "customMetrics": dcgm_counters_csv(),
        **({"extraEnv": env} if env else {}),
        "serviceMonitor": service_monitor(context),
        **runtime_class(context, pools),
    }


def _pods(context: ComponentContext) -> Iterable[PlanPod]:
    return daemon_set_pods(context, NAME, _EXPORTER, _pools(context))


COMPONENT = ChartComponent(
    name=NAME,
    values=_values,
    pods=_pods,
    # Its container adds SYS_ADMIN, for the profiling metrics.
    namespaces={"gpu-monitoring": PRIVILEGED},
    awaits_existing=False,
)
contribute = COMPONENT.contribute
