"""LeaderWorkerSet 0.10: groups of one leader and its workers, for inference over several nodes (chart lws v0.10.0).

The controller makes a StatefulSet of leaders, and for each leader a StatefulSet of its workers. Kueue 0.18.3 counts one
Workload for each group and holds the pods of the group by their scheduling gates until all of them have quota.
"""

from mlcluster.catalog.components import pin
from mlcluster.plan.components.charts import chart_release, controller_pod, realisation
from mlcluster.plan.components.component import Contribution
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.member_roles import member_roles
from mlcluster.plan.components.replicas import REPLICAS, disruption_budget, prefer_apart
from mlcluster.plan.components.system_nodes import controller_tolerations
from mlcluster.plan.model import Manifest, PlanPod
from mlcluster.plan.taints import toleration_manifests

NAME = "lws"
GROUP = "leaderworkerset.x-k8s.io"
CONTROLLER = f"{NAME}-controller-manager"
DEFINITIONS = (f"leaderworkersets.{GROUP}",)
REQUESTS = {"cpu": "200m", "memory": "256Mi"}
PRIORITY = "system-cluster-critical"
LABELS = {"app.kubernetes.io/instance": NAME, "control-plane": "controller-manager"}


def contribute(context: ComponentContext) -> Contribution:
    """Return the release, its controller's pod, and what members may do with the sets."""
    release = chart_release(context, NAME, _values(context), definitions=DEFINITIONS, answers=(_probe(),))
    return Contribution(
        releases=(release,),
        objects=(
            *member_roles(context, NAME, GROUP, ["leaderworkersets"]),
            *disruption_budget(context, NAME, CONTROLLER, LABELS, namespace=pin(NAME).namespace),
        ),
        pods=() if realisation(context, NAME) == "present" else (_pod(context),),
    )


def _values(context: ComponentContext) -> Manifest:
    """Return the values; the chart's own image tag is a branch."""
    settings = context.settings(NAME)
    version = (settings.version if settings is not None else None) or pin(NAME).version
    return {
        "fullnameOverride": NAME,
        "image": {"manager": {"tag": f"v{version.removeprefix('v')}", "pullPolicy": "IfNotPresent"}},
        "replicaCount": REPLICAS,
        "affinity": prefer_apart(LABELS),
        "priorityClassName": PRIORITY,
        "tolerations": toleration_manifests(controller_tolerations(context)),
        "resources": {"requests": REQUESTS, "limits": {"memory": "1Gi"}},
    }


def _pod(context: ComponentContext) -> PlanPod:
    return controller_pod(
        context,
        NAME,
        CONTROLLER,
        REQUESTS,
        evidence="rendered",
        priority_class=PRIORITY,
        replicas=REPLICAS,
    )


def _probe() -> Manifest:
    """Return a set that the webhooks answer."""
    template = {"spec": {"containers": [{"name": "main", "image": "none"}]}}
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "mlcluster-probe", "namespace": "default"},
        "spec": {"leaderWorkerTemplate": {"workerTemplate": template}},
    }
