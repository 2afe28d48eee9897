"""Node readiness controller: taints that follow node conditions (kubernetes-sigs/node-readiness-controller v0.5.0).

Its rules never change (the CRD makes every field but `dryRun` immutable), so each pool has its own.
"""

from collections.abc import Iterator

from mlcluster.catalog.components import pin
from mlcluster.plan.components.charts import chart_release, deployment_pod, release_id
from mlcluster.plan.components.component import Contribution
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.node_problem_detector import GPU_CONDITION, NETWORK_CONDITION
from mlcluster.plan.components.system_nodes import controller_tolerations
from mlcluster.plan.model import Manifest, PlanObject, Pool, Taint, Toleration
from mlcluster.plan.objects import make
from mlcluster.plan.taints import GPU_TAINT, NETWORK_TAINT, taint_manifest, toleration_manifests, tolerations
from mlcluster.spec.secondary import gated_pools

NAME = "node-readiness-controller"
API, KIND = "readiness.node.x-k8s.io/v1alpha1", "NodeReadinessRule"
DEFINITION = "nodereadinessrules.readiness.node.x-k8s.io"
REQUESTS = {"cpu": "10m", "memory": "64Mi"}
LIMITS = {"memory": "256Mi"}
"""Twice the chart's, for it holds every node."""


def contribute(context: ComponentContext) -> Contribution:
    """The controller and its rules: new nodes with secondary networks, and nodes with broken GPUs."""
    found, path = pin(NAME), context.spec_path(NAME)
    release = chart_release(context, NAME, _values(context), definitions=(DEFINITION,))
    pod = deployment_pod(
        context,
        release.id,
        f"{NAME}-manager",
        REQUESTS,
        namespace=found.namespace,
        source=f"values of the release, over values.yaml of {found.source}",
        spec_path=path,
        tolerations=_tolerations(context),
    )
    pods = () if release.realisation == "present" else (pod,)
    return Contribution(releases=(release,), objects=tuple(_rules(context)), pods=pods)


def _rules(context: ComponentContext) -> Iterator[PlanObject]:
    gated = {pool.name for pool in gated_pools(context.spec)}
    for pool in context.pools:
        if pool.name in gated:
            ready: Manifest = {"type": NETWORK_CONDITION, "requiredStatus": "True"}
            once = "bootstrap-only"
            yield _rule(context, pool, "secondary-network", condition=ready, taint=NETWORK_TAINT, mode=once)
        if pool.accelerator is not None:
            # No news is good news: a node whose detector is not there yet may work.
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
    needs = (release_id(NAME),)
    return make(
        context.cluster, API, KIND, f"{pool.name}-{about}", {"spec": spec}, needs=needs, spec_path=pool.spec_path
    )


def _values(context: ComponentContext) -> Manifest:
    settings = context.settings(NAME)
    version = (settings.version if settings is not None else None) or pin(NAME).version
    return {
        "image": {"tag": f"v{version.removeprefix('v')}"},
        "resources": {"requests": REQUESTS, "limits": LIMITS},
        # The chart tolerates everything, and would sit on a GPU node as well as anywhere.
        "tolerations": toleration_manifests(_tolerations(context)),
    }


def _tolerations(context: ComponentContext) -> tuple[Toleration, ...]:
    """Return the tolerations of the controller: its own taints too, because no other controller removes them."""
    return (*controller_tolerations(context), *tolerations((NETWORK_TAINT, GPU_TAINT)))
