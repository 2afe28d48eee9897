"""The DCGM exporter by itself: GPU metrics where the GPU operator's exporter is not used (chart 4.8.2)."""

from mlcluster.plan.components.charts import chart_release, daemon_set_pods, realisation, release_id
from mlcluster.plan.components.component import PRIVILEGED, Contribution
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.gpu_daemons import on_pools, runtime_class, service_monitor, sharing_environment
from mlcluster.plan.components.ownership import served
from mlcluster.plan.model import Manifest
from mlcluster.plan.observe.counters import dcgm_counters_csv
from mlcluster.plan.taints import daemon_set_tolerations, toleration_manifests

NAME = "dcgm-exporter"
NAMESPACE = "gpu-monitoring"
REQUESTS = {"cpu": "100m", "memory": "128Mi"}
"""As the chart has them."""


def contribute(context: ComponentContext) -> Contribution:
    """The release, on the pools with GPUs alone: the chart would run on every node, and fail on those without."""
    if realisation(context, NAME) == "present":
        return Contribution(releases=(chart_release(context, NAME, {}),))
    pools = served(context, NAME, "dcgmExporter")
    tolerations, env = daemon_set_tolerations(context.spec, pools), sharing_environment(pools)
    values: Manifest = {
        "affinity": on_pools(pools),
        "tolerations": toleration_manifests(tolerations),
        "resources": {"requests": REQUESTS},
        "customMetrics": dcgm_counters_csv(),
        **({"extraEnv": env} if env else {}),
        "serviceMonitor": service_monitor(context),
        **runtime_class(context, pools),
    }
    return Contribution(
        releases=(chart_release(context, NAME, values),),
        pods=daemon_set_pods(
            context,
            release_id(NAME),
            NAME,
            pools,
            REQUESTS,
            namespace=NAMESPACE,
            source="values.yaml of NVIDIA/dcgm-exporter 4.5.3-4.8.2: resources.requests",
            tolerations=tolerations,
        ),
        # Its container adds SYS_ADMIN, for the profiling metrics.
        namespaces={NAMESPACE: PRIVILEGED},
    )
