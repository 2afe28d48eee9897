"""Values of kube-prometheus-stack that follow from the cluster (chart 88.5.3)."""

from mlcluster.plan import names
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.system_pool import controller_tolerations
from mlcluster.plan.components.workloads import CLUSTER_CRITICAL
from mlcluster.plan.model import Manifest
from mlcluster.plan.observe.facts import node_label_keys
from mlcluster.plan.taints import daemon_set_tolerations, toleration_manifests
from mlcluster.quantities import parse
from mlcluster.spec.components.observe import Monitoring

REQUESTS = {
    "operator": {"cpu": "100m", "memory": "128Mi"},
    "prometheus": {"cpu": "500m", "memory": "4Gi"},
    "alertmanager": {"cpu": "50m", "memory": "200Mi"},
    "grafana": {"cpu": "140m", "memory": "384Mi"},
    "state": {"cpu": "50m", "memory": "256Mi"},
    "nodes": {"cpu": "50m", "memory": "64Mi"},
}
"""Requests of whole pods; those of Grafana cover its own container and two sidecars."""

PRIORITY = CLUSTER_CRITICAL
"""The stack's priority class: after the loss of a node, the stack can preempt work on borrowed quota, which may fill
the other nodes."""

_GRAFANA = {"cpu": "100m", "memory": "256Mi"}
_SIDECAR = {"cpu": "20m", "memory": "64Mi"}
FULL = 0.85
"""Share of the volume for series: the log of the newest two hours needs the rest."""

_EVERYTHING = ("serviceMonitor", "podMonitor", "rule", "probe", "scrapeConfig")
_CONTROL_PLANE = ("kubeControllerManager", "kubeScheduler", "kubeEtcd", "kubeProxy")
_POD_LABELS = ("kueue.x-k8s.io/cluster-queue-name", "kueue.x-k8s.io/local-queue-name")


def stack_values(context: ComponentContext, settings: Monitoring) -> Manifest:
    """Return every value that mlcluster sets."""
    tolerations = toleration_manifests(controller_tolerations(context))
    return {
        "prometheusOperator": {
            "tolerations": tolerations,
            "priorityClassName": PRIORITY,
            "resources": {"requests": REQUESTS["operator"]},
            # The job that makes the webhook's certificate: without a node for it, the installation never ends.
            "admissionWebhooks": {"patch": {"tolerations": tolerations}},
        },
        "prometheus": {"prometheusSpec": _prometheus(context, settings, tolerations)},
        "alertmanager": _alertmanager(settings, tolerations),
        "grafana": _grafana(settings, tolerations),
        "kube-state-metrics": {
            "tolerations": tolerations,
            "priorityClassName": PRIORITY,
            "resources": {"requests": REQUESTS["state"]},
            "metricLabelsAllowlist": _labels(context),
        },
        "prometheus-node-exporter": {
            "tolerations": toleration_manifests(daemon_set_tolerations(context.spec, context.pools)),
            "resources": {"requests": REQUESTS["nodes"]},
            "priorityClassName": "system-node-critical",
        },
        **{part: {"enabled": settings.control_plane} for part in _CONTROL_PLANE},
    }


def _prometheus(context: ComponentContext, settings: Monitoring, tolerations: list[Manifest]) -> Manifest:
    claim: Manifest = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": settings.storage}},
    }
    if settings.storage_class:
        claim["storageClassName"] = settings.storage_class
    size = int(parse("memory", settings.storage) * FULL)
    return {
        # By default Prometheus selects only objects with the release's label, which the monitors of Kueue and others
        # lack.
        **{f"{kind}SelectorNilUsesHelmValues": False for kind in _EVERYTHING},
        "externalLabels": {"cluster": context.cluster},
        "retention": settings.retention,
        "retentionSize": f"{size}MiB",
        "storageSpec": {"volumeClaimTemplate": {"spec": claim}},
        "resources": {"requests": {**REQUESTS["prometheus"], "memory": settings.memory}},
        "tolerations": tolerations,
        "priorityClassName": PRIORITY,
    }


def _alertmanager(settings: Monitoring, tolerations: list[Manifest]) -> Manifest:
    if not settings.alertmanager:
        return {"enabled": False}
    of_pods = {"tolerations": tolerations, "priorityClassName": PRIORITY}
    return {"enabled": True, "alertmanagerSpec": {**of_pods, "resources": {"requests": REQUESTS["alertmanager"]}}}


def _grafana(settings: Monitoring, tolerations: list[Manifest]) -> Manifest:
    if not settings.grafana.install:
        return {"enabled": False}
    (label, value), *_ = settings.grafana.dashboard_labels.items()
    return {
        "enabled": True,
        "tolerations": tolerations,
        "priorityClassName": PRIORITY,
        "resources": {"requests": _GRAFANA},
        "sidecar": {"resources": {"requests": _SIDECAR}, "dashboards": {"label": label, "labelValue": value}},
    }


def _labels(context: ComponentContext) -> list[str]:
    """Return the labels of metrics: those of pools, the queues of pods, the teams of namespaces."""
    nodes = ",".join(node_label_keys(context.pools))
    return [f"nodes=[{nodes}]", f"pods=[{','.join(_POD_LABELS)}]", f"namespaces=[{names.TEAM}]"]
