"""Node readiness controller: taints that follow node conditions (kubernetes-sigs/node-readiness-controller v0.5.0).

The fields of a rule are immutable, but for `dryRun` (CRD NodeReadinessRule), so each pool has its own rules: one for
new nodes with secondary networks, one for nodes with broken GPUs.
"""

from collections.abc import Iterator

from mlcluster.plan.components.chart_component import ChartComponent
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.node_problem_detector import GPU_CONDITION, NETWORK_CONDITION
from mlcluster.plan.components.releases import release_id
from mlcluster.plan.components.system_pool import controller_tolerations
from mlcluster.plan.components.workloads import Workload, workload_pod
from mlcluster.plan.model import Manifest, PlanObject, PlanPod, Pool, Taint, Toleration
from mlcluster.plan.objects import make
from mlcluster.plan.taints import GPU_TAINT, NETWORK_TAINT, taint_manifest, toleration_manifests, tolerations
from mlcluster.spec.secondary_networks import pools_with_network_taint

NAME = "node-readiness-controller"
API, KIND = "readiness.node.x-k8s.io/v1alpha1", "NodeReadinessRule"
REQUESTS = {"cpu": "10m", "memory": "64Mi"}
LIMITS = {"memory": "256Mi"}
"""Twice the chart's limit, because the controller holds every node in memory."""

_CONTROLLER = Workload(f"{NAME}-manager", REQUESTS, source="values of the release, over values.yaml of {source}")


def _pods(context: ComponentContext) -> Iterator[PlanPod]:
    yield workload_pod(context, NAME, _CONTROLLER, tolerations=_tolerations(context))


def _rules(context: ComponentContext) -> Iterator[PlanObject]:
    tainted = {pool.name for pool in pools_with_network_taint(context.spec)}
    for pool in context.pools:
        if pool.name in tainted:
            ready: Manifest = {"type": NETWORK_CONDITION, "requiredStatus": "True"}
            once = "bootstrap-only"
            yield _rule(context, pool, "secondary-network", condition=ready, taint=NETWORK_TAINT, mode=once)
        if pool.accelerator is not None:
            # A node whose detector has not reported yet counts as healthy.
            broken: Manifest = {"type": GPU_CONDITION, "requiredStatus": "False", "defaultStatus": "False"}
            yield _rule(context, pool, "gpu-health", condition=broken, taint=GPU_TAINT, mode="continuous")


def _rule(  # noqa: PLR0913 -- the parts of a rule
    context: ComponentContext, pool: Pool, about: str, *, condition: Manifest, taint: Taint, mode: str
) -> PlanObject:
    spec: Manifest = {
        "conditions": [condition],
        "taint": taint_manifest(taint),
        "enforcementMode": mode,
        "nodeSelector": {"matchLabels": dict(pool.selector)},
    }
    return make(
        context.cluster,
        API,
        KIND,
        f"{pool.name}-{about}",
        {"spec": spec},
        needs=(release_id(NAME),),
        spec_path=pool.spec_path,
        pool=pool.name,
    )


def _values(context: ComponentContext) -> Manifest:
    return {
        "image": {"tag": context.image_tag(NAME)},
        "resources": {"requests": REQUESTS, "limits": LIMITS},
        # By default the chart tolerates every taint, so its pod could run on a GPU node.
        "tolerations": toleration_manifests(_tolerations(context)),
    }


def _tolerations(context: ComponentContext) -> tuple[Toleration, ...]:
    """Return the tolerations of the controller: its own taints too, because no other controller removes them."""
    return (*controller_tolerations(context), *tolerations((NETWORK_TAINT, GPU_TAINT)))


COMPONENT = ChartComponent(
    name=NAME,
    values=_values,
    pods=_pods,
    crds=("nodereadinessrules.readiness.node.x-k8s.io",),
    objects=_rules,
)
contribute = COMPONENT.contribute
