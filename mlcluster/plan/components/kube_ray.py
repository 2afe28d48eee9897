"""KubeRay 1.6.2: RayJob and RayCluster (kuberay-operator chart; its values of main, October 2025 and later)."""

from mlcluster.plan import job_kinds
from mlcluster.plan.components.charts import chart_release, controller_pod, realisation
from mlcluster.plan.components.component import Contribution
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.member_roles import member_roles
from mlcluster.plan.components.system_nodes import controller_tolerations
from mlcluster.plan.model import Manifest, PlanPod
from mlcluster.plan.network import Caller
from mlcluster.plan.taints import toleration_manifests

NAME = "kuberay-operator"
DEFINITIONS = tuple(f"{kind}.ray.io" for kind in ("rayclusters", "rayjobs", "rayservices"))
DASHBOARD = 8265
"""The port of a Ray head's dashboard, unless the RayCluster says otherwise."""

REQUESTS = {"cpu": "100m", "memory": "512Mi"}
_ENVIRONMENT = [{"name": "ENABLE_GCS_FT_REDIS_CLEANUP", "value": "false"}]
"""With the cleanup KubeRay keeps a deleted RayCluster with `gcsFaultToleranceOptions` until a Job has emptied its
Redis. Kueue suspends that Job forever, so the API server would never delete the RayCluster and its namespace.
"""


def contribute(context: ComponentContext) -> Contribution:
    """The release, its controller's pod, and what members may do with Ray.

    Members do not write RayServices: they bring a second RayCluster up beside the first one while they upgrade, which
    Kueue would count as one more.
    """
    values: Manifest = {
        "nameOverride": NAME,
        "fullnameOverride": NAME,
        "serviceAccount": {"create": True, "name": NAME},
        "priorityClassName": "system-cluster-critical",
        "tolerations": toleration_manifests(controller_tolerations(context)),
        # The chart's own limit of 100m would stay beside ours, and throttle the operator with every RayCluster.
        "resources": {"requests": REQUESTS, "limits": {"cpu": "2", "memory": "1Gi"}},
        "batchScheduler": {"name": ""},
        "env": _ENVIRONMENT,
    }
    return Contribution(
        releases=(chart_release(context, NAME, values, definitions=DEFINITIONS),),
        objects=member_roles(context, NAME, "ray.io", ["rayclusters", "rayjobs"], ["rayservices"]),
        pods=() if realisation(context, NAME) != "helm" else (_pod(context),),
        callers=(_caller(context),),
    )


def _caller(context: ComponentContext) -> Caller:
    """Return the connection by which the operator reads the state of a RayJob; without it, every RayJob fails.

    Sources of KubeRay v1.6.2: `FetchHeadServiceURL` in controllers/ray/utils/util.go, and the labels of the chart. It
    connects to other ports for RayServices only, which members cannot create.
    """
    _, _, namespace, _ = job_kinds.controllers(context.spec, [NAME])[NAME].split(":")
    return Caller(
        name=f"from-{NAME}",
        namespace=namespace,
        pods={"app.kubernetes.io/name": NAME},
        to={"matchLabels": {"ray.io/node-type": "head"}},
        ports=(DASHBOARD,),
        spec_path=context.spec_path(NAME),
    )


def _pod(context: ComponentContext) -> PlanPod:
    return controller_pod(
        context,
        NAME,
        NAME,
        REQUESTS,
    )
