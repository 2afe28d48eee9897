"""Prometheus adapter: metrics of GPUs for HorizontalPodAutoscalers (facts: chart prometheus-adapter).

It serves custom.metrics.k8s.io alone. KEDA serves the external metrics API, and metrics-server the resource metrics
API: the chart registers each of these APIs only if the values have rules for it, and mlcluster sets none.
"""

from urllib.parse import urlsplit

from mlcluster.plan.components.chart_component import ChartComponent
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.system_pool import controller_tolerations
from mlcluster.plan.components.workloads import CLUSTER_CRITICAL, Workload
from mlcluster.plan.model import Manifest
from mlcluster.plan.observe.scrape import prometheus_url
from mlcluster.plan.taints import toleration_manifests
from mlcluster.plan.templates import filled

NAME = "prometheus-adapter"
REQUESTS = {"cpu": "100m", "memory": "256Mi"}

SCRAPE_EVERY = "1m"
"""Interval of the search for new series; with an interval below Prometheus's own, series vanish now and then."""


def custom_rules() -> list[Manifest]:
    """Return the rules of the metrics that HorizontalPodAutoscalers may read, each per pod."""
    found: list[Manifest] = filled("adapter/custom-metrics.yaml")
    return found


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
    """Return the address of Prometheus in the form of the chart: URL, port and path."""
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
