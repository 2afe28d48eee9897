"""Scrape targets of Prometheus, and the address of Prometheus."""

from collections.abc import Mapping

from mlcluster.catalog.components import pin
from mlcluster.plan.model import Manifest
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.components.observe import ExistingPrometheus

STACK = "kube-prometheus-stack"
PORT = 9090

NODE_RELABELING: Mapping[str, object] = {
    "sourceLabels": ["__meta_kubernetes_pod_node_name"],
    "targetLabel": "node",
    "action": "replace",
}
"""The label `node` of everything about GPUs: the exporter's own label of the host has changed its name (rule 10)."""


def existing_prometheus(spec: ClusterSpec) -> ExistingPrometheus | None:
    """Return the settings of an existing Prometheus; None if mlcluster installs it or there is none."""
    monitoring = spec.components.monitoring
    if monitoring is None or monitoring.install:
        return None
    return monitoring.prometheus or ExistingPrometheus()


def monitor_labels(spec: ClusterSpec) -> dict[str, str]:
    """Labels of a ServiceMonitor or PodMonitor, so that Prometheus selects it; the installed one selects all."""
    there = existing_prometheus(spec)
    return dict(there.service_monitor_labels) if there else {}


def rule_labels(spec: ClusterSpec) -> dict[str, str]:
    """Likewise of a PrometheusRule."""
    there = existing_prometheus(spec)
    return dict(there.rule_labels) if there else {}


def namespace(spec: ClusterSpec) -> str:
    """Where rules, monitors and dashboards go."""
    there = existing_prometheus(spec)
    return there.namespace if there else pin(STACK).namespace


def prometheus_url(spec: ClusterSpec) -> str:
    """Return the address of Prometheus for pods; "" if the spec has none."""
    there = existing_prometheus(spec)
    if there is not None:
        return there.prometheus_url or ""
    return f"http://{STACK}-prometheus.{namespace(spec)}.svc:{PORT}" if spec.components.monitoring else ""


def kueue_monitor() -> Manifest:
    """Return the spec of a ServiceMonitor for Kueue's metrics (Kueue 0.18.3, charts/kueue, metrics service).

    Kueue answers only to those whom the API server lets read /metrics.
    """
    labels = {"app.kubernetes.io/name": "kueue", "app.kubernetes.io/component": "metrics-service"}
    endpoint = {
        "port": "https",
        "scheme": "https",
        "path": "/metrics",
        "interval": "30s",
        "bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
        "tlsConfig": {"insecureSkipVerify": True},
    }
    return {
        "namespaceSelector": {"matchNames": [pin("kueue").namespace]},
        "selector": {"matchLabels": labels},
        "endpoints": [endpoint],
    }
