"""How Prometheus scrapes pods of teams: a container port with the name `metrics`.

KubeRay gives every Ray container such a port (v1.6.2, controllers/ray/common/pod.go); other pods name a port so.
"""

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from mlcluster.plan.model import Manifest
from mlcluster.plan.network import Caller
from mlcluster.plan.observe.scrape import namespace, prometheus_url
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Loc

PORT = "metrics"
SAMPLES = 20_000
"""Series of one container; Prometheus drops a scrape with more."""

BODY = "10MB"
"""Size of one scrape, unpacked: Prometheus reads it whole before it counts series, and sets no limit by default."""

RESERVED = (
    r"(ALERTS|DCGM|apiserver|container|gpu_operator|kube|kubelet|kubernetes|kueue|mlcluster|node|problem|scrape)(_.*)?"
    r"|up|.*:.*"
)
"""Names of metrics that rules and dashboards read, also those of kube-prometheus-stack: a team could forge them.

A name with a colon is that of a recording rule. vLLM uses such names too: it needs a PodMonitor of an administrator.
"""

_SERVICE = re.compile(r"[a-z0-9-]+\.(?P<namespace>[a-z0-9-]+)\.svc(\..*)?")


def team_scraper(spec: ClusterSpec, spec_path: Loc) -> Caller:
    """Return the connections of Prometheus to pods of teams.

    The labels are those that the Prometheus operator gives every Prometheus (pkg/prometheus/common.go).
    """
    return Caller(
        name="from-prometheus",
        namespace=_prometheus_namespace(spec),
        pods={"app.kubernetes.io/name": "prometheus"},
        to={},
        ports=(PORT,),
        spec_path=spec_path,
    )


def team_monitor(namespaces: Iterable[str]) -> Manifest:
    """Return the spec of the PodMonitor of the pods of teams."""
    reserved = {"sourceLabels": ["__name__"], "regex": RESERVED, "action": "drop"}
    return {
        "namespaceSelector": {"matchNames": sorted(namespaces)},
        "selector": {},
        "sampleLimit": SAMPLES,
        "bodySizeLimit": BODY,
        "podMetricsEndpoints": [
            # A redirect by a pod would let Prometheus connect to hosts that the team itself cannot reach.
            {"port": PORT, "interval": "30s", "followRedirects": False, "metricRelabelings": [reserved]}
        ],
    }


def _prometheus_namespace(spec: ClusterSpec) -> str:
    """Return the namespace of the Service that the URL of Prometheus names, else that of the rules."""
    found = _SERVICE.fullmatch(urlsplit(prometheus_url(spec)).hostname or "")
    return found["namespace"] if found else namespace(spec)
