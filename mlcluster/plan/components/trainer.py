"""Kubeflow Trainer 2.3.0: TrainJob and its runtimes (facts: chart values v2.3.0).

The runtimes are objects of ours: the chart's own come from a hook Job that fetches kubectl from the internet.
"""

from mlcluster.catalog.components import pin
from mlcluster.plan.components.charts import chart_release, controller_pod, realisation, release_id
from mlcluster.plan.components.component import Contribution
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.member_roles import member_roles
from mlcluster.plan.components.replicas import REPLICAS, disruption_budget, prefer_apart
from mlcluster.plan.components.system_nodes import controller_tolerations
from mlcluster.plan.components.training_runtimes import API, runtime_body, runtimes
from mlcluster.plan.model import Manifest, PlanObject, PlanPod
from mlcluster.plan.objects import make
from mlcluster.plan.taints import toleration_manifests

NAME = "kubeflow-trainer"
FULL_NAME = "trainer"
"""What the release's objects are called; the whole name would make a user name too long for a certificate (64)."""

GROUP = "trainer.kubeflow.org"
DEFINITIONS = tuple(f"{kind}.{GROUP}" for kind in ("clustertrainingruntimes", "trainingruntimes", "trainjobs"))
REQUESTS = {"cpu": "100m", "memory": "300Mi"}
CONTROLLER = f"{FULL_NAME}-controller-manager"
LABELS = {"app.kubernetes.io/component": "manager", "app.kubernetes.io/instance": NAME}


def contribute(context: ComponentContext) -> Contribution:
    """The release, its controller's pod, the runtimes, and what members may do with train jobs.

    Members do not write runtimes: a TrainJob is counted by its runtime, which must not change under it.
    """
    return Contribution(
        releases=(chart_release(context, NAME, _values(context), definitions=DEFINITIONS, answers=(_probe(),)),),
        objects=(
            *_runtimes(context),
            *member_roles(context, NAME, GROUP, ["trainjobs"], _RUNTIMES),
            *disruption_budget(context, NAME, CONTROLLER, LABELS, namespace=pin(NAME).namespace),
        ),
        pods=() if realisation(context, NAME) != "helm" else (_pod(context),),
    )


_RUNTIMES = ("clustertrainingruntimes", "trainingruntimes")


def _values(context: ComponentContext) -> Manifest:
    return {
        "fullnameOverride": FULL_NAME,
        "jobset": {"install": False},
        "manager": {
            "tolerations": toleration_manifests(controller_tolerations(context)),
            "resources": {"requests": REQUESTS, "limits": {"memory": "1Gi"}},
            "replicas": REPLICAS,
            "affinity": prefer_apart(LABELS),
        },
    }


def _runtimes(context: ComponentContext) -> list[PlanObject]:
    settings = context.spec.components.trainer
    path = context.spec_path(NAME)
    return [
        make(
            context.cluster,
            API,
            "ClusterTrainingRuntime",
            name,
            runtime_body(runtime.framework, runtime.image),
            labels={f"{GROUP}/framework": runtime.framework},
            needs=(release_id(NAME),),
            spec_path=f"{path}.runtimes.{name}" if settings and name in settings.runtimes else path,
        )
        for name, runtime in runtimes(settings.runtimes if settings else {}).items()
    ]


def _pod(context: ComponentContext) -> PlanPod:
    return controller_pod(
        context,
        NAME,
        CONTROLLER,
        REQUESTS,
        evidence="rendered",
        priority_class="",  # the chart has no place for one
        replicas=REPLICAS,
    )


def _probe() -> Manifest:
    """A runtime that the webhook looks at."""
    probe = runtime_body("plain", "none")
    return {"apiVersion": API, "kind": "ClusterTrainingRuntime", "metadata": {"name": "mlcluster-probe"}, **probe}
