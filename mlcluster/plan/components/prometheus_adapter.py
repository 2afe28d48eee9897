"""Prometheus adapter: metrics of GPUs for HorizontalPodAutoscalers (facts: chart prometheus-adapter).

It serves custom.metrics.k8s.io alone. The API of external metrics is KEDA's, that of resources metrics-server's: the
chart registers each only where its rules are given, and we give none.
"""

from urllib.parse import urlsplit

from mlcluster.catalog.components import pin
from mlcluster.plan.components.charts import chart_release, controller_pod, realisation
from mlcluster.plan.components.component import Contribution
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.tolerations import controller_tolerations
from mlcluster.plan.model import Manifest
from mlcluster.plan.observe.scrape import prometheus_url
from mlcluster.plan.templates import filled

NAME = "prometheus-adapter"
REQUESTS = {"cpu": "100m", "memory": "256Mi"}

SCRAPE_EVERY = "1m"
"""How often it looks for new series; shorter than Prometheus makes them, and they vanish now and then."""


def contribute(context: ComponentContext) -> Contribution:
    """The release and its pod."""
    ours = realisation(context, NAME) != "present"
    release = chart_release(context, NAME, _values(context) if ours else {})
    pod = controller_pod(
        context,
        NAME,
        NAME,
        REQUESTS,
        source=f"values of the release, over those of {pin(NAME).source}",
    )
    return Contribution(releases=(release,), pods=(pod,) if ours else ())


def custom_rules() -> list[Manifest]:
    """Return the rules of the metrics that HorizontalPodAutoscalers may read, each per pod."""
    found: list[Manifest] = filled("adapter/custom-metrics.yaml")
    return found


def _values(context: ComponentContext) -> Manifest:
    return {
        "prometheus": _address(prometheus_url(context.spec)),
        "metricsRelistInterval": SCRAPE_EVERY,
        "rules": {"default": False, "custom": custom_rules(), "external": [], "resource": {}},
        "tolerations": controller_tolerations(context),
        "priorityClassName": "system-cluster-critical",
        "resources": {"requests": REQUESTS},
    }


def _address(url: str) -> Manifest:
    """As the chart takes it apart: url:port path."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return {"url": f"{parts.scheme}://{parts.hostname}", "port": port, "path": parts.path.rstrip("/")}
