"""JobSet 0.12.0: groups of Jobs that start and end together (facts: chart values v0.12.0)."""

from mlcluster.plan.components.chart_component import ChartComponent
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.member_roles import MemberKinds
from mlcluster.plan.components.replicas import BUDGET, REPLICAS, prefer_apart
from mlcluster.plan.components.system_pool import controller_tolerations
from mlcluster.plan.components.workloads import Workload
from mlcluster.plan.model import Manifest
from mlcluster.plan.taints import toleration_manifests

NAME = "jobset"
GROUP = "jobset.x-k8s.io"
REQUESTS = {"cpu": "500m", "memory": "128Mi"}
LABELS = {"app.kubernetes.io/component": "controller", "app.kubernetes.io/instance": NAME}
_POD = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}


def _values(context: ComponentContext) -> Manifest:
    return {
        "fullnameOverride": NAME,
        "controller": {
            "tolerations": toleration_manifests(controller_tolerations(context)),
            "resources": {"requests": REQUESTS, "limits": {"memory": "4Gi"}},
            "replicas": REPLICAS,
            "affinity": prefer_apart(LABELS),
            "podDisruptionBudget": {"enabled": True, **BUDGET},
        },
    }


COMPONENT = ChartComponent(
    name=NAME,
    values=_values,
    # The chart has no value for a priority class.
    workloads=(Workload(f"{NAME}-controller", REQUESTS, replicas=REPLICAS, priority_class="", evidence="rendered"),),
    crds=(f"jobsets.{GROUP}",),
    webhook_probes=(
        {
            "apiVersion": f"{GROUP}/v1alpha2",
            "kind": "JobSet",
            "metadata": {"name": "mlcluster-probe", "namespace": "default"},
            "spec": {"replicatedJobs": [{"name": "probe", "template": {"spec": {"template": {"spec": _POD}}}}]},
        },
    ),
    member_kinds=MemberKinds(GROUP, ("jobsets",)),
)
contribute = COMPONENT.contribute
