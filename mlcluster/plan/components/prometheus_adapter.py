"""Prometheus adapter: metrics of GPUs for HorizontalPodAutoscalers (facts: chart prometheus-adapter).

It serves custom.metrics.k8s.io alone. The API of external metrics is KEDA's, that of resources metrics-server's: the
chart registers each only where its rules are given, and we give none.
"""

from urllib.parse import urlsplit

from mlcluster.plan.components.chart_component import ChartComponent
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.system_pool import controller_tolerations
from mlcluster.plan.components.workloads import CLUSTER_CRITICAL, Workload
from mlcluster.plan.model import Manifest
from mlcluster.plan.observe.promql import of_whole_gpu
from mlcluster.plan.observe.records import BUSY, MEMORY_BUSY
from mlcluster.plan.observe.scrape import prometheus_url
from mlcluster.plan.taints import toleration_manifests

NAME = "prometheus-adapter"
REQUESTS = {"cpu": "100m", "memory": "256Mi"}

_OURS = {"gpu_busy_ratio": BUSY, "gpu_memory_busy_ratio": MEMORY_BUSY}
_SERIES = "<<.Series>>{<<.LabelMatchers>>}"
_WHOLE_GPU = of_whole_gpu(_SERIES, "<<.Series>>")
_EXPORTERS = {
    "DCGM_FI_DEV_GPU_UTIL": _WHOLE_GPU,
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": _SERIES,
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": _SERIES,
}
_FREE, _USED = "DCGM_FI_DEV_FB_FREE", "DCGM_FI_DEV_FB_USED"
SCRAPE_EVERY = "1m"
"""How often it looks for new series; shorter than Prometheus makes them, and they vanish now and then."""


def custom_rules() -> list[Manifest]:
    """Return the metrics per pod for HorizontalPodAutoscalers: ratios of mlcluster, and metrics of DCGM."""
    own = [_rule(series, name, pod="pod", namespace="namespace") for name, series in _OURS.items()]
    dcgm = [
        _rule(name, name, pod="exported_pod", namespace="exported_namespace", value=value)
        for name, value in _EXPORTERS.items()
    ]
    memory = _rule(_USED, "gpu_memory_used_ratio", pod="exported_pod", namespace="exported_namespace")
    by = "(<<.GroupBy>>)"
    used, free = f"sum by {by} ({_WHOLE_GPU})", f"sum by {by} ({_FREE}{{<<.LabelMatchers>>}})"
    memory["metricsQuery"] = f"{used} / ({used} + {free})"
    return [*own, *dcgm, memory]


def _rule(series: str, name: str, *, pod: str, namespace: str, value: str = _SERIES) -> Manifest:
    overrides = {namespace: {"resource": "namespace"}, pod: {"resource": "pod"}}
    return {
        "seriesQuery": f'{series}{{{namespace}!="",{pod}!=""}}',
        "resources": {"overrides": overrides},
        "name": {"matches": ".*", "as": name},
        "metricsQuery": f"avg by (<<.GroupBy>>) ({value})",
    }


def _values(context: ComponentContext) -> Manifest:
    return {
        "prometheus": _address(prometheus_url(context.spec)),
        "metricsRelistInterval": SCRAPE_EVERY,
        "rules": {"default": False, "custom": custom_rules(), "external": [], "resource": {}},
        "tolerations": toleration_manifests(controller_tolerations(context)),
        "priorityClassName": CLUSTER_CRITICAL,
        "resources": {"requests": REQUESTS},
    }


def _address(url: str) -> Manifest:
    """Return the address of Prometheus as the chart takes it: URL, port and path."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return {"url": f"{parts.scheme}://{parts.hostname}", "port": port, "path": parts.path.rstrip("/")}


COMPONENT = ChartComponent(
    name=NAME,
    values=_values,
    workloads=(Workload(NAME, REQUESTS, source="values of the release, over those of {source}"),),
    awaits_existing=False,
)
contribute = COMPONENT.contribute
