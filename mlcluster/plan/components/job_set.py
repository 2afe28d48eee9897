"""JobSet 0.12.0: groups of Jobs with one life (facts: chart values v0.12.0)."""

from mlcluster.plan.components.charts import chart_release, controller_pod, realisation
from mlcluster.plan.components.component import Contribution
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.member_roles import member_roles
from mlcluster.plan.components.replicas import BUDGET, REPLICAS, prefer_apart
from mlcluster.plan.components.system_nodes import controller_tolerations
from mlcluster.plan.model import Manifest, PlanPod
from mlcluster.plan.taints import toleration_manifests

NAME = "jobset"
API = "jobset.x-k8s.io/v1alpha2"
DEFINITIONS = ("jobsets.jobset.x-k8s.io",)
REQUESTS = {"cpu": "500m", "memory": "128Mi"}
LABELS = {"app.kubernetes.io/component": "controller", "app.kubernetes.io/instance": NAME}


def contribute(context: ComponentContext) -> Contribution:
    """The release, its controller's pod, and what members may do with job sets."""
    values: Manifest = {
        "fullnameOverride": NAME,
        "controller": {
            "tolerations": toleration_manifests(controller_tolerations(context)),
            "resources": {"requests": REQUESTS, "limits": {"memory": "4Gi"}},
            "replicas": REPLICAS,
            "affinity": prefer_apart(LABELS),
            "podDisruptionBudget": {"enabled": True, **BUDGET},
        },
    }
    release = chart_release(context, NAME, values, definitions=DEFINITIONS, answers=(_probe(),))
    return Contribution(
        releases=(release,),
        objects=member_roles(context, NAME, "jobset.x-k8s.io", ["jobsets"]),
        pods=() if realisation(context, NAME) != "helm" else (_pod(context),),
    )


def _pod(context: ComponentContext) -> PlanPod:
    return controller_pod(
        context,
        NAME,
        f"{NAME}-controller",
        REQUESTS,
        evidence="rendered",
        priority_class="",  # the chart has no place for one
        replicas=REPLICAS,
    )


def _probe() -> Manifest:
    """A job set that the webhooks answer."""
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}
    return {
        "apiVersion": API,
        "kind": "JobSet",
        "metadata": {"name": "mlcluster-probe", "namespace": "default"},
        "spec": {"replicatedJobs": [{"name": "probe", "template": {"spec": {"template": {"spec": pod}}}}]},
    }
