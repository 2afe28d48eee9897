"""LeaderWorkerSet 0.10: groups of one leader and its workers, for inference over several nodes (chart lws v0.10.0).

The controller makes a StatefulSet of leaders, and for each leader a StatefulSet of its workers. Kueue 0.18.3 counts one
Workload for each group and keeps the scheduling gates of the group's pods until all of them have quota.
"""

from mlcluster.plan.components.chart_component import ChartComponent
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.member_roles import MemberKinds
from mlcluster.plan.components.replicas import REPLICAS, prefer_apart
from mlcluster.plan.components.system_pool import controller_tolerations
from mlcluster.plan.components.workloads import CLUSTER_CRITICAL, Workload
from mlcluster.plan.model import Manifest
from mlcluster.plan.taints import toleration_manifests

NAME = "lws"
GROUP = "leaderworkerset.x-k8s.io"
CONTROLLER = f"{NAME}-controller-manager"
REQUESTS = {"cpu": "200m", "memory": "256Mi"}
LABELS = {"app.kubernetes.io/instance": NAME, "control-plane": "controller-manager"}


def _values(context: ComponentContext) -> Manifest:
    """Return the values, with an image tag because the chart's default tag is a branch."""
    return {
        "fullnameOverride": NAME,
        "image": {"manager": {"tag": context.image_tag(NAME), "pullPolicy": "IfNotPresent"}},
        "replicaCount": REPLICAS,
        "affinity": prefer_apart(LABELS),
        "priorityClassName": CLUSTER_CRITICAL,
        "tolerations": toleration_manifests(controller_tolerations(context)),
        "resources": {"requests": REQUESTS, "limits": {"memory": "1Gi"}},
    }


COMPONENT = ChartComponent(
    name=NAME,
    values=_values,
    workloads=(Workload(CONTROLLER, REQUESTS, replicas=REPLICAS, evidence="rendered"),),
    crds=(f"leaderworkersets.{GROUP}",),
    webhook_probes=(
        {
            "apiVersion": f"{GROUP}/v1",
            "kind": "LeaderWorkerSet",
            "metadata": {"name": "mlcluster-probe", "namespace": "default"},
            "spec": {
                "leaderWorkerTemplate": {
                    "workerTemplate": {"spec": {"containers": [{"name": "main", "image": "none"}]}},
                }
            },
        },
    ),
    member_kinds=MemberKinds(GROUP, ("leaderworkersets",)),
    disruption_budgets={CONTROLLER: LABELS},
)
contribute = COMPONENT.contribute
