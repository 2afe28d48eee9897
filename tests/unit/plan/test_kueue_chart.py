"""Kueue's configuration against the one in its chart, which it replaces as a whole."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from mlcluster.lab.controllers.kueue import host_config
from mlcluster.plan.model import Plan
from tests.specs import EXISTING, LOCAL, SYSTEM, TRAIN, Data, planned
from tests.unit.plan.test_kueue import configuration_of
from tests.upstream import chart_values, needs_reference

pytestmark = pytest.mark.unit

PORTS = {"webhook": 1001, "health": 1002, "metrics": 1003, "visibility": 1004}
COMPONENTS: Data = {"jobSet": {}, "trainer": {}, "mpiOperator": {}, "kubeRay": {}}
LEFT_OUT: Mapping[str, str] = {}
"""Path of a key in the chart's configuration -> why the configuration of the plan does without it."""


def whole(target: Data) -> Plan:
    return planned({**SYSTEM, "minSize": 2}, TRAIN, target=target, components=COMPONENTS)


def paths(found: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every leaf of a configuration; a list is a leaf."""
    if not isinstance(found, dict):
        yield at, found
        return
    for key, value in found.items():
        yield from paths(value, f"{at}/{key}")


@needs_reference
def test_no_key_of_the_charts_configuration_is_lost() -> None:
    values = chart_values("kueue")
    upstream = dict(paths(yaml.safe_load(values["managerConfig"]["controllerManagerConfigYaml"])))
    ours = dict(paths(configuration_of(whole(EXISTING))))
    assert upstream.keys() - ours.keys() == set(LEFT_OUT)
    numbers = {path: value for path, value in upstream.items() if path.startswith(("/clientConnection", "/controller"))}
    assert len(numbers) == 8, "two of the client, six kinds"
    assert all(ours[path] >= value for path, value in numbers.items())


def test_every_kind_that_kueue_manages_has_more_than_one_worker() -> None:
    found = configuration_of(whole(EXISTING))["controller"]["groupKindConcurrency"]
    kinds = {"JobSet.jobset.x-k8s.io", "TrainJob.trainer.kubeflow.org", "MPIJob.kubeflow.org", "RayJob.ray.io"}
    assert all(found[kind] > 1 for kind in {*kinds, "RayCluster.ray.io", "Job.batch", "Pod", "StatefulSet.apps"})


def test_the_lab_runs_kueue_as_fast_as_a_cluster() -> None:
    cluster, lab = configuration_of(whole(EXISTING)), host_config(configuration_of(whole(LOCAL)), PORTS, "/c")
    for part in ("clientConnection", "controller"):
        assert lab[part] == cluster[part]


def test_a_lab_without_a_configured_rate_has_that_of_the_plans() -> None:
    bare = host_config({"integrations": {"frameworks": ["batch/job"]}}, PORTS, "/c")
    assert bare["clientConnection"] == configuration_of(whole(EXISTING))["clientConnection"]
    asked = host_config({"clientConnection": {"qps": 7, "burst": 8}}, PORTS, "/c")
    assert asked["clientConnection"] == {"qps": 7, "burst": 8}
