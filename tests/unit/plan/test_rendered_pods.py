"""Pods of rendered charts in a plan: replaced pods, nodes of daemon sets, and the resulting quota."""

from dataclasses import replace

import pytest

from mlcluster.plan import build
from mlcluster.plan.chart_facts import Workload
from mlcluster.plan.objects import make
from mlcluster.plan.rendered_pods import accepts, rendered_pods
from mlcluster.plan.taints import EVERY_TAINT
from tests.specs import EXISTING, SYSTEM, TRAIN, checked, cluster

pytestmark = pytest.mark.unit

SPEC = checked(cluster(SYSTEM, TRAIN, target=EXISTING, components={"gpuOperator": {}}))
PLAN = build(SPEC)
RELEASE = next(release for release in PLAN.releases if release.name == "gpu-operator")
WORKER = Workload(
    kind="DaemonSet",
    name="worker",
    namespace="gpu-operator",
    hooks=(),
    replicas=1,
    requests={"cpu": 700, "pods": 1},
    tolerations=(EVERY_TAINT,),
    node_selector={"kubernetes.io/os": "linux"},
    node_terms=(),
    apart=False,
    spread=(),
    priority_class="",
    service_account="",
    images=(),
)
CONTROLLER = replace(WORKER, kind="Deployment", name="gpu-operator", replicas=3, apart=True)


def test_a_daemon_set_has_a_pod_for_each_pool_that_it_runs_on() -> None:
    on_train = replace(WORKER, node_terms=((("example.com/pool", "In", ("train",)),),))
    (pod,) = rendered_pods(PLAN, RELEASE, [on_train], "an archive")
    assert (pod.node_selector, pod.evidence, pod.source) == (PLAN.pools[1].selector, "rendered", "an archive")
    everywhere = rendered_pods(PLAN, RELEASE, [WORKER], "an archive")
    assert [pod.spec_path for pod in everywhere] == [("nodePools", 0), ("nodePools", 1)]
    nowhere = replace(WORKER, node_selector={"example.com/row": "7"})
    assert rendered_pods(PLAN, RELEASE, [nowhere], "an archive") == ()


@pytest.mark.parametrize(
    ("operator", "values", "accepted"),
    [("In", ("train",), True), ("NotIn", ("train",), False), ("Exists", (), True), ("DoesNotExist", (), False)],
)
def test_required_node_affinity_is_evaluated(operator: str, values: tuple[str, ...], accepted: bool) -> None:
    term = ("example.com/pool", operator, values)
    assert accepts(replace(WORKER, node_terms=((term,),)), PLAN.pools[1]) is accepted


def test_an_autoscaler_of_the_plan_gives_the_replicas() -> None:
    spec = {"scaleTargetRef": {"kind": "Deployment", "name": "gpu-operator"}, "minReplicas": 2, "maxReplicas": 2}
    kind, home = "HorizontalPodAutoscaler", "gpu-operator"
    scaler = make("atlas", "autoscaling/v2", kind, "one", {"spec": spec}, namespace=home, spec_path=())
    plan = replace(PLAN, objects=(*PLAN.objects, scaler))
    (pod,) = rendered_pods(plan, RELEASE, [CONTROLLER], "an archive")
    assert pod.replicas == 2
    (other,) = rendered_pods(plan, RELEASE, [replace(CONTROLLER, namespace="elsewhere")], "an archive")
    assert other.replicas == 3


def test_rendered_pods_replace_the_declared_pods_of_their_release() -> None:
    pods = rendered_pods(PLAN, RELEASE, [CONTROLLER, WORKER], "an archive")
    plan = build(SPEC, {RELEASE.id: pods})
    names = [pod.name for pod in plan.pods if pod.owner.id == RELEASE.id]
    assert names[:3] == ["gpu-operator", "worker", "worker"]
    assert "gpu-operator-node-feature-discovery-master" not in names, "the chart has no such workload"
    assert "nvidia-operator-validator" in names, "the operator makes it when it runs"
    assert [pod for pod in plan.pods if pod.owner.id != RELEASE.id] == [
        pod for pod in PLAN.pods if pod.owner.id != RELEASE.id
    ]
    (controller,) = (pod for pod in plan.pods if pod.name == "gpu-operator")
    assert (controller.replicas, controller.apart, controller.node_selector) == (3, True, {})


def test_quota_excludes_the_requests_of_rendered_daemon_sets() -> None:
    plan = build(SPEC, {RELEASE.id: rendered_pods(PLAN, RELEASE, [WORKER], "an archive")})
    declared = 5  # NFD's worker
    for before, after in zip(PLAN.pools, plan.pools, strict=True):
        assert after.usable["cpu"] == before.usable["cpu"] + declared - 700
