"""KubeRay 1.6.2: RayJob and RayCluster (kuberay-operator chart; its values of main, October 2025 and later)."""

from collections.abc import Iterator

from mlcluster.plan import job_kinds
from mlcluster.plan.components.chart_component import ChartComponent
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.member_roles import MemberKinds
from mlcluster.plan.components.system_pool import controller_tolerations
from mlcluster.plan.components.workloads import CLUSTER_CRITICAL, Workload
from mlcluster.plan.model import Manifest
from mlcluster.plan.network import Caller
from mlcluster.plan.taints import toleration_manifests

NAME = "kuberay-operator"
DASHBOARD = 8265
"""The port of a Ray head's dashboard, unless the RayCluster sets another."""

REQUESTS = {"cpu": "100m", "memory": "512Mi"}
_ENVIRONMENT = [{"name": "ENABLE_GCS_FT_REDIS_CLEANUP", "value": "false"}]
"""With the cleanup KubeRay keeps a deleted RayCluster with `gcsFaultToleranceOptions` until a Job has emptied its
Redis. Kueue suspends that Job forever, so the API server would never delete the RayCluster and its namespace.
"""


def _values(context: ComponentContext) -> Manifest:
    return {
        "nameOverride": NAME,
        "fullnameOverride": NAME,
        "serviceAccount": {"create": True, "name": NAME},
        "priorityClassName": CLUSTER_CRITICAL,
        "tolerations": toleration_manifests(controller_tolerations(context)),
        # The chart's own limit of 100m CPU would throttle the operator as RayClusters are added.
        "resources": {"requests": REQUESTS, "limits": {"cpu": "2", "memory": "1Gi"}},
        "batchScheduler": {"name": ""},
        "env": _ENVIRONMENT,
    }


def _callers(context: ComponentContext) -> Iterator[Caller]:
    """Yield the connection by which the operator reads the state of a RayJob; without it, every RayJob fails.

    Sources of KubeRay v1.6.2: `FetchHeadServiceURL` in controllers/ray/utils/util.go, and the labels of the chart. It
    connects to other ports for RayServices only, which members cannot create.
    """
    yield Caller(
        name=f"from-{NAME}",
        namespace=job_kinds.accounts(context.spec, [NAME])[NAME].namespace,
        pods={"app.kubernetes.io/name": NAME},
        to={"matchLabels": {"ray.io/node-type": "head"}},
        ports=(DASHBOARD,),
        spec_path=context.spec_path(NAME),
    )


COMPONENT = ChartComponent(
    name=NAME,
    values=_values,
    workloads=(Workload(NAME, REQUESTS),),
    crds=tuple(f"{kind}.ray.io" for kind in ("rayclusters", "rayjobs", "rayservices")),
    # Members do not write RayServices: an upgrade starts a second RayCluster beside the first, which Kueue counts too.
    member_kinds=MemberKinds("ray.io", ("rayclusters", "rayjobs"), ("rayservices",)),
    callers=_callers,
)
contribute = COMPONENT.contribute
