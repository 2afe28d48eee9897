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
from mlcluster.plan.observe.scrape import prometheus_url
from mlcluster.plan.taints import toleration_manifests
from mlcluster.plan.templates import filled

NAME = "prometheus-adapter"
REQUESTS = {"cpu": "100m", "memory": "256Mi"}

SCRAPE_EVERY = "1m"
"""How often it looks for new series; shorter than Prometheus makes them, and they vanish now and then."""


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
