"""KEDA: scales workloads on events and queues (facts: kedacore/charts, keda/README.md; keda.sh, operate/cluster).

It owns the API of external metrics, of which a cluster has one; the Prometheus adapter keeps to that of custom ones.
"""

from mlcluster.catalog.components import pin
from mlcluster.plan.components.charts import chart_release, controller_pod, realisation
from mlcluster.plan.components.component import Contribution
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.system_nodes import controller_tolerations
from mlcluster.plan.model import Manifest
from mlcluster.plan.observe.scrape import STACK, monitor_labels
from mlcluster.plan.taints import toleration_manifests

NAME = "keda"
REQUESTS = {"cpu": "100m", "memory": "100Mi"}
"""As the chart has them, for each of the three."""

_WORKLOADS = {
    "operator": "keda-operator",
    "metricServer": "keda-operator-metrics-apiserver",
    "webhooks": "keda-admission-webhooks",
}
DEFINITIONS = tuple(
    f"{name}.keda.sh"
    for name in ("clustertriggerauthentications", "scaledjobs", "scaledobjects", "triggerauthentications")
)


def contribute(context: ComponentContext) -> Contribution:
    """The release and its three controllers."""
    ours = realisation(context, NAME) != "present"
    release = chart_release(context, NAME, _values(context) if ours else {}, definitions=DEFINITIONS if ours else ())
    pods = tuple(
        controller_pod(
            context,
            NAME,
            workload,
            REQUESTS,
            source=f"values of the release, over those of {pin(NAME).source}",
        )
        for workload in _WORKLOADS.values()
    )
    return Contribution(releases=(release,), pods=pods if ours else ())


def _values(context: ComponentContext) -> Manifest:
    watched = context.has(STACK)
    labels = monitor_labels(context.spec)
    monitor: Manifest = {"enabled": watched, **({"additionalLabels": labels} if watched and labels else {})}
    return {
        "tolerations": toleration_manifests(controller_tolerations(context)),
        "priorityClassName": "system-cluster-critical",
        # Members of teams have the roles edit and view, and these know nothing of ScaledObjects by themselves.
        "rbac": {"aggregateToDefaultRoles": True},
        "resources": {part: {"requests": REQUESTS} for part in _WORKLOADS},
        "prometheus": {part: {"enabled": watched, "serviceMonitor": monitor} for part in _WORKLOADS},
    }
