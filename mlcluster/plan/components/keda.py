"""KEDA: scales workloads on events and queues (facts: kedacore/charts, keda/README.md; keda.sh, operate/cluster).

KEDA serves the external metrics API, for which a cluster has only one server; the Prometheus adapter serves the custom
metrics API.
"""

from mlcluster.plan.components.chart_component import ChartComponent
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.system_pool import controller_tolerations
from mlcluster.plan.components.workloads import CLUSTER_CRITICAL, Workload
from mlcluster.plan.model import Manifest
from mlcluster.plan.observe.scrape import STACK, monitor_labels
from mlcluster.plan.taints import toleration_manifests

NAME = "keda"
REQUESTS = {"cpu": "100m", "memory": "100Mi"}
"""The chart's own requests, the same for each of the three workloads."""

_WORKLOADS = {
    "operator": "keda-operator",
    "metricServer": "keda-operator-metrics-apiserver",
    "webhooks": "keda-admission-webhooks",
}
"""Key of the workload in the values -> its Deployment."""


def _values(context: ComponentContext) -> Manifest:
    watched = context.has(STACK)
    labels = monitor_labels(context.spec)
    monitor: Manifest = {"enabled": watched, **({"additionalLabels": labels} if watched and labels else {})}
    return {
        "tolerations": toleration_manifests(controller_tolerations(context)),
        "priorityClassName": CLUSTER_CRITICAL,
        # Team members have the roles edit and view, which do not cover ScaledObjects by default.
        "rbac": {"aggregateToDefaultRoles": True},
        "resources": {part: {"requests": REQUESTS} for part in _WORKLOADS},
        "prometheus": {part: {"enabled": watched, "serviceMonitor": monitor} for part in _WORKLOADS},
    }


COMPONENT = ChartComponent(
    name=NAME,
    values=_values,
    workloads=tuple(
        Workload(deployment, REQUESTS, source="values of the release, over those of {source}")
        for deployment in _WORKLOADS.values()
    ),
    crds=tuple(
        f"{kind}.keda.sh"
        for kind in ("clustertriggerauthentications", "scaledjobs", "scaledobjects", "triggerauthentications")
    ),
    awaits_existing=False,
)
contribute = COMPONENT.contribute
