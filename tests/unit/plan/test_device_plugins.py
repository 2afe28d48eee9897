"""The EFA device plugin: nodes and configuration."""

from typing import Any

import pytest

from mlcluster.plan import build
from mlcluster.plan.model import Plan, PlanPod, PlanRelease
from mlcluster.plan.overhead import lands_on
from mlcluster.quantities import parse
from tests.eks_contexts import eks_spec
from tests.specs import SYSTEM, TRAIN, Data
from tests.upstream import chart_values, needs_reference, unknown_values

pytestmark = pytest.mark.unit

NAME = "aws-efa-k8s-device-plugin"
TAINTED: Data = {
    **TRAIN,
    "taints": [{"key": "dedicated", "value": "training", "effect": "NoSchedule"}],
    "startupTaints": [{"key": "example.com/checking", "effect": "NoExecute"}],
    "network": {"efa": True},
}
SLICED: Data = {**TRAIN, "name": "sliced", "gpu": {"timeSlicing": {"replicas": 4}}}
ROCKET: Data = {**TRAIN, "name": "rocket", "ami": {"family": "bottlerocket"}, "network": {"efa": True}}
EVERY = (SYSTEM, TAINTED, SLICED, ROCKET)


def plan_of(*pools: Data, components: Data | None = None, **target: Any) -> Plan:
    return build(eks_spec(*(pools or EVERY), rest={"components": components or {}}, **target))


def efa(plan: Plan) -> PlanRelease:
    (release,) = [release for release in plan.releases if release.name == NAME]
    return release


def pods(plan: Plan) -> list[PlanPod]:
    return [pod for pod in plan.pods if pod.name == NAME]


def test_efa_is_announced_on_every_pool_that_has_it() -> None:
    values = efa(plan_of()).values
    assert values["supportedInstanceLabels"] == {"keys": ["mlcluster.dev/pool"], "values": ["train", "rocket"]}


@pytest.mark.parametrize(
    ("region", "registry"),
    [
        ("us-west-2", "602401143452.dkr.ecr.us-west-2.amazonaws.com"),
        ("eu-central-1", "602401143452.dkr.ecr.eu-central-1.amazonaws.com"),
        ("eu-south-1", "590381155156.dkr.ecr.eu-south-1.amazonaws.com"),
        ("us-gov-west-1", "013241004608.dkr.ecr.us-gov-west-1.amazonaws.com"),
        ("cn-north-1", "918309763551.dkr.ecr.cn-north-1.amazonaws.com.cn"),
    ],
)
def test_its_image_comes_from_the_regions_own_registry(region: str, registry: str) -> None:
    plan = plan_of(region=region, zones=[f"{region}a", f"{region}b"])
    assert efa(plan).values["image"] == {"repository": f"{registry}/eks/aws-efa-k8s-device-plugin"}


def test_it_tolerates_every_taint_of_its_pools() -> None:
    wanted = {("nvidia.com/gpu", "NoSchedule"), ("dedicated", "NoSchedule"), ("example.com/checking", "NoExecute")}
    tolerations = efa(plan_of()).values["tolerations"]
    assert wanted <= {(one["key"], one.get("effect", "")) for one in tolerations}
    assert {one["operator"] for one in tolerations} == {"Exists"}


def test_nothing_without_efa() -> None:
    plan = plan_of(SYSTEM, TRAIN)
    assert NAME not in {component.name for component in plan.components}
    assert pods(plan) == []


def test_an_existing_device_plugin_is_left_unchanged() -> None:
    plan = plan_of(components={"efaDevicePlugin": {"install": False}})
    assert efa(plan).realisation == "present"
    assert pods(plan) == []


def test_pods_land_on_the_pools_that_need_them_and_on_no_others() -> None:
    plan = plan_of()
    assert [pool.name for pod in pods(plan) for pool in plan.pools if lands_on(pod, pool)] == ["train", "rocket"]
    assert {(pod.kind, pod.owner.id) for pod in pods(plan)} == {("DaemonSet", efa(plan).id)}


@needs_reference
def test_every_value_exists_in_the_chart() -> None:
    assert unknown_values(NAME, efa(plan_of()).values) == []
    assert unknown_values(NAME, {"image": {"repo": ""}, "x": 1}) == ["image.repo", "x"]


@needs_reference
def test_the_pod_of_the_plan_has_the_requests_of_the_chart() -> None:
    chart = chart_values(NAME)
    asked = {name: parse(name, text) for name, text in chart["resources"]["requests"].items()}
    found = pods(plan_of())
    assert found
    assert all(pod.requests == {**asked, "pods": 1} for pod in found)
