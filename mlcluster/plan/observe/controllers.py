"""Monitors for the controllers of components; Kueue, GPUs, nodes and pods of teams have other modules.

Labels and ports are those of the Services that the charts make (KEDA's chart makes its own monitors); a test renders
the charts and compares. Node problem detector has no Service, so its pods are scraped.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from mlcluster.catalog.components import pin
from mlcluster.plan.model import Manifest

NAME = "app.kubernetes.io/name"
INTERVAL = "30s"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the controllers of a component serve metrics.

    Attributes:
        labels: of the Services, or of the pods where there is no Service.
        port: name of the Service's port, or of the container's.
        secure: by HTTPS, to users that the API server lets read /metrics.
        kind: of the monitor.
    """

    labels: Mapping[str, str]
    port: str
    secure: bool = False
    kind: str = "ServiceMonitor"


ENDPOINTS: Mapping[str, Endpoint] = {
    "cert-manager": Endpoint({NAME: "cert-manager", "app.kubernetes.io/component": "controller"}, "http-metrics"),
    "cluster-autoscaler": Endpoint({NAME: "aws-cluster-autoscaler"}, "http"),
    "envoy-gateway": Endpoint({"control-plane": "envoy-gateway"}, "metrics"),
    "jobset": Endpoint({NAME: "jobset", "app.kubernetes.io/component": "controller"}, "https", secure=True),
    "karpenter": Endpoint({NAME: "karpenter"}, "http-metrics"),
    "kserve": Endpoint({"control-plane": "kserve-controller-manager"}, "https", secure=True),
    "kubeflow-trainer": Endpoint({NAME: "kubeflow-trainer"}, "monitoring-port", secure=True),
    "kuberay-operator": Endpoint({NAME: "kuberay-operator"}, "http"),
    "node-problem-detector": Endpoint({}, "metrics", kind="PodMonitor"),
    "volcano": Endpoint({"app": "volcano-scheduler"}, "metrics"),
}
"""By component. The namespace of node problem detector has no other pods."""


def controller_monitor(component: str) -> Manifest:
    """Return the spec of the monitor of a component in `ENDPOINTS`."""
    found = ENDPOINTS[component]
    scrape: Manifest = {"port": found.port, "path": "/metrics", "interval": INTERVAL}
    if found.secure:
        scrape |= {
            "scheme": "https",
            "bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
            "tlsConfig": {"insecureSkipVerify": True},
        }
    return {
        "namespaceSelector": {"matchNames": [pin(component).namespace]},
        "selector": {"matchLabels": dict(found.labels)} if found.labels else {},
        "endpoints" if found.kind == "ServiceMonitor" else "podMetricsEndpoints": [scrape],
    }
