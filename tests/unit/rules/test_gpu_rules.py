"""Findings on GPUs, both ways; those that only the GPU operator makes are with its tests."""

from typing import Any

import pytest

from mlcluster.findings import Finding
from mlcluster.plan import build
from mlcluster.rules import findings
from mlcluster.spec.cluster import ClusterSpec
from tests.specs import EXISTING, SHARED, SYSTEM, TRAIN, Data, cluster

pytestmark = pytest.mark.unit

EKS: Data = {"kind": "eks", "region": "us-west-2"}
SLICED: Data = {**TRAIN, "name": "sliced", "gpu": {"timeSlicing": {"replicas": 4}}}
TOGETHER: Data = {**TRAIN, "name": "together", "gpu": {"mps": {"replicas": 2}}}


def of_kind(identifier: str, *pools: Data, **rest: Any) -> list[Finding]:
    spec = ClusterSpec.model_validate(cluster(SYSTEM, *pools, **rest))
    return [finding for finding in findings(build(spec), spec) if finding.id == identifier]


def team(name: str, **guarantee: int) -> Data:
    return {"name": name, "guarantee": {pool: {"gpus": count} for pool, count in guarantee.items()}}


def test_production_on_nothing_but_time_slices() -> None:
    (finding,) = of_kind("GPU003", SLICED, TRAIN, teams=[team("serving", sliced=2), team("research", train=2)])
    assert finding.place == ("teams", 0)
    assert "production-critical" in finding.message
    assert "sliced" in finding.message


@pytest.mark.parametrize(
    "teams",
    [
        [team("both", sliced=2, train=2)],
        [{**team("tests", sliced=2), "tiers": ["best-effort-experiment"]}],
        [{"name": "cpu", "guarantee": {"system": {"nodes": 1}}}],
        [team("together", together=1)],
    ],
    ids=["whole GPUs too", "no production", "no GPUs", "MPS"],
)
def test_production_that_is_safe(teams: list[Data]) -> None:
    assert of_kind("GPU003", SLICED, TRAIN, TOGETHER, teams=teams) == []


def test_mps_is_experimental() -> None:
    (finding,) = of_kind("GPU004", TOGETHER, SLICED)
    assert finding.place == ("nodePools", 1, "gpu", "mps")


@pytest.mark.parametrize("exporter", [{"gpuOperator": {}}, {"dcgmExporter": {}}, {"dcgmExporter": {"install": False}}])
def test_monitoring_has_metrics_of_gpus(exporter: Data) -> None:
    given = {"monitoring": {}, **exporter}
    assert of_kind("GPU007", TRAIN, target=EXISTING, components=given) == []


def test_monitoring_without_metrics_of_gpus() -> None:
    assert of_kind("GPU007", TRAIN, target=EXISTING, components={"monitoring": {}})
    assert of_kind("GPU007", TRAIN, target=EKS, components={"monitoring": {}}) == []
    assert of_kind("GPU007", target=EXISTING, components={"monitoring": {}}) == []
    without = {"monitoring": {}, "gpuOperator": {"without": ["dcgmExporter"]}}
    assert of_kind("GPU007", TRAIN, target=EKS, components=without)


def test_mig_nodes_that_the_autoscaler_does_not_wait_for() -> None:
    (finding,) = of_kind("GPU008", SHARED, target=EKS)
    assert "nvidia.com/mig-1g.5gb" in finding.message
    assert of_kind("GPU008", {**SHARED, "minSize": 2}, target=EKS) == []
    assert of_kind("GPU008", SHARED, target=EKS, components={"gpuOperator": {"migStrategy": "single"}}) == []
    assert of_kind("GPU008", {**SHARED, "ami": {"family": "bottlerocket"}}, target=EKS) == []
    assert of_kind("GPU008", SHARED, target={**EKS, "autoscaler": "none"}) == []
    assert of_kind("GPU008", SHARED) == []
