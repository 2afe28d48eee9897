"""Kubeflow Trainer 2.3.0: TrainJob and its runtimes (facts: chart values v2.3.0).

mlcluster makes the runtimes: those of the chart come from a hook Job that fetches kubectl from the internet.
"""

from mlcluster.plan.components.chart_component import ChartComponent
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.member_roles import MemberKinds
from mlcluster.plan.components.releases import release_id
from mlcluster.plan.components.replicas import REPLICAS, prefer_apart
from mlcluster.plan.components.system_pool import controller_tolerations
from mlcluster.plan.components.training_runtimes import API, runtime_body, runtimes
from mlcluster.plan.components.workloads import Workload
from mlcluster.plan.model import Manifest, PlanObject
from mlcluster.plan.objects import make
from mlcluster.plan.taints import toleration_manifests

NAME = "kubeflow-trainer"
FULL_NAME = "trainer"
"""The name of the release's objects; the full name would make a user name too long for a certificate (64)."""

GROUP = "trainer.kubeflow.org"
_RUNTIMES = ("clustertrainingruntimes", "trainingruntimes")
REQUESTS = {"cpu": "100m", "memory": "300Mi"}
CONTROLLER = f"{FULL_NAME}-controller-manager"
LABELS = {"app.kubernetes.io/component": "manager", "app.kubernetes.io/instance": NAME}


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
            spec_path=(*path, "runtimes", name) if settings and name in settings.runtimes else path,
        )
        for name, runtime in runtimes(settings.runtimes if settings else {}).items()
    ]


COMPONENT = ChartComponent(
    name=NAME,
    values=_values,
    # The chart has no value for a priority class.
    workloads=(Workload(CONTROLLER, REQUESTS, replicas=REPLICAS, priority_class="", evidence="rendered"),),
    crds=tuple(f"{kind}.{GROUP}" for kind in (*_RUNTIMES, "trainjobs")),
    webhook_probes=(
        {
            "apiVersion": API,
            "kind": "ClusterTrainingRuntime",
            "metadata": {"name": "mlcluster-probe"},
            **runtime_body("plain", "none"),
        },
    ),
    # Members do not write runtimes: Kueue counts a TrainJob by its runtime, which must not change while it runs.
    member_kinds=MemberKinds(GROUP, ("trainjobs",), _RUNTIMES),
    disruption_budgets={CONTROLLER: LABELS},
    objects=_runtimes,
)
contribute = COMPONENT.contribute
