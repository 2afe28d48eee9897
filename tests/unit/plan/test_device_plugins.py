"""The EFA device plugin: on which nodes, with what configuration."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from mlcluster.plan.components.efa_device_plugin import (
    efa_device_plugin_pods,
    efa_device_plugin_releases,
)
from mlcluster.plan.model import Manifest, PlanRelease
from mlcluster.plan.overhead import lands_on
from mlcluster.plan.quantities import parse
from tests.eks_contexts import eks_context
from tests.specs import SYSTEM, TRAIN, Data

pytestmark = pytest.mark.unit

CHARTS = Path(__file__).parents[4] / "shared" / "reference" / "charts"
needs_charts = pytest.mark.skipif(
    not CHARTS.is_dir(), reason="the charts' values are not in ../shared/reference: not compared"
)
TAINTED: Data = {
    **TRAIN,
    "taints": [{"key": "dedicated", "value": "training", "effect": "NoSchedule"}],
    "startupTaints": [{"key": "example.com/checking", "effect": "NoExecute"}],
    "network": {"efa": True},
}
SLICED: Data = {**TRAIN, "name": "sliced", "gpu": {"timeSlicing": {"replicas": 4}}}
MIG: Data = {"name": "mig", "instanceType": "p4d.24xlarge", "maxSize": 2, "gpu": {"mig": "all-1g.5gb"}}
ROCKET: Data = {**TRAIN, "name": "rocket", "ami": {"family": "bottlerocket"}, "network": {"efa": True}}
EVERY = (SYSTEM, TAINTED, SLICED, MIG, ROCKET)


def efa(*pools: Data, **target: Any) -> PlanRelease:
    (release,) = efa_device_plugin_releases(eks_context(*(pools or EVERY), **target))
    return release


def unknown(ours: Manifest, theirs: Any, above: str = "") -> list[str]:
    """Paths of our values that the chart does not have; an empty mapping of the chart is free-form."""
    found = []
    for key, value in ours.items():
        if key not in theirs:
            found.append(f"{above}{key}")
        elif isinstance(value, dict) and theirs[key]:
            found += unknown(value, theirs[key], f"{above}{key}.")
    return found


def test_efa_is_announced_on_every_pool_that_has_it() -> None:
    assert efa().values["supportedInstanceLabels"] == {"keys": ["mlcluster.dev/pool"], "values": ["train", "rocket"]}


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
    assert efa(region=region).values["image"] == {"repository": f"{registry}/eks/aws-efa-k8s-device-plugin"}


def test_it_tolerates_every_taint_of_its_pools() -> None:
    wanted = {("nvidia.com/gpu", "NoSchedule"), ("dedicated", "NoSchedule"), ("example.com/checking", "NoExecute")}
    tolerations = efa().values["tolerations"]
    assert wanted <= {(one["key"], one.get("effect", "")) for one in tolerations}
    assert {one["operator"] for one in tolerations} == {"Exists"}


def test_nothing_without_efa() -> None:
    here = eks_context(SYSTEM, TRAIN)
    assert efa_device_plugin_releases(here) == []
    assert efa_device_plugin_pods(here) == ()


def test_pods_land_on_the_pools_that_need_them_and_on_no_others() -> None:
    here = eks_context(*EVERY)
    pods = efa_device_plugin_pods(here)
    assert [pool.name for pod in pods for pool in here.pools if lands_on(pod, pool)] == ["train", "rocket"]
    assert {pod.kind for pod in pods} == {"DaemonSet"}


def test_pods_belong_to_releases_of_the_plan() -> None:
    here = eks_context(*EVERY)
    assert {pod.owner for pod in efa_device_plugin_pods(here)} == {efa().id}


@needs_charts
def test_every_value_is_the_charts() -> None:
    chart = yaml.safe_load((CHARTS / "aws-efa-k8s-device-plugin" / "values.yaml").read_text("utf-8"))
    assert unknown(efa().values, chart) == []
    assert unknown({"image": {"repo": ""}, "x": 1}, chart) == ["image.repo", "x"]


@needs_charts
def test_the_efa_plugins_pod_asks_for_what_the_chart_asks() -> None:
    chart = yaml.safe_load((CHARTS / "aws-efa-k8s-device-plugin" / "values.yaml").read_text("utf-8"))
    asked = {name: parse(name, text) for name, text in chart["resources"]["requests"].items()}
    for pod in efa_device_plugin_pods(eks_context(*EVERY)):
        assert pod.requests == {**asked, "pods": 1}
