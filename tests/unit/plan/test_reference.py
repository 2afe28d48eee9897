"""The plan against Kueue's own files, verbatim: its CRDs and its chart's values. They are read, never copied here.

Not checked: the rules in CEL that the CRDs hold and the webhook's; a real API server does that in tests/lab.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from mlcluster.plan import build
from mlcluster.plan.model import Manifest, Plan
from mlcluster.quantities import parse
from mlcluster.rules import capacity
from mlcluster.spec.load import load
from tests.specs import SHARED, SYSTEM, TRAIN, planned, planned_unchecked
from tests.upstream import chart_values, errors_of, missing_values, needs_reference, schemas

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
API = "kueue.x-k8s.io/v1beta2"
KINDS = ("ClusterQueue", "Cohort", "LocalQueue", "ResourceFlavor", "WorkloadPriorityClass")

pytestmark = [pytest.mark.unit, needs_reference]


def kueue_objects(plan: Plan) -> list[Manifest]:
    return [entry.manifest for entry in plan.objects if entry.manifest["apiVersion"].startswith("kueue.x-k8s.io/")]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_kueue_object_of_an_example_is_valid(path: Path) -> None:
    found = kueue_objects(build(load(path).spec))
    assert {manifest["kind"] for manifest in found} - {"Topology"} == set(KINDS)
    for manifest in found:
        assert manifest["apiVersion"] == API
        assert not errors_of(manifest), manifest["metadata"]["name"]


def test_every_limit_of_a_queue_is_valid() -> None:
    teams = [
        {"name": "nobody"},
        {"name": "half", "guarantee": {"train": {"gpus": 1}}, "borrow": {"shared": {"slices": 1}}, "lend": "none"},
    ]
    tainted = {**TRAIN, "taints": [{"key": "quiet", "effect": "NoExecute"}]}
    plan = planned(SYSTEM, tainted, SHARED, teams=teams, cohorts=[{"name": "club", "share": "none"}])
    for manifest in kueue_objects(plan):
        assert not errors_of(manifest), manifest["metadata"]["name"]


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("ClusterQueue", ("spec", "cohort"), "atlas"),
        ("ClusterQueue", ("spec", "queueingStrategy"), "Fifo"),
        ("ClusterQueue", ("spec", "resourceGroups", 0, "flavors", 0, "resources", 0, "quota"), "1"),
        ("ClusterQueue", ("spec", "resourceGroups", 0, "flavors", 0, "resources", 0, "nominalQuota"), "many"),
        ("Cohort", ("spec", "resourceGroups", 0, "flavours"), []),
        ("ResourceFlavor", ("spec", "nodeLabels", "n"), 1),
        ("LocalQueue", ("spec", "clusterQueue"), "Not A Name"),
    ],
)
def test_the_schemas_reject_an_invalid_object(kind: str, path: tuple[str | int, ...], value: object) -> None:
    plan = planned(SYSTEM, teams=[{"name": "research", "guarantee": {"system": {"nodes": 1}}}])
    manifest = json.loads(json.dumps(next(found for found in kueue_objects(plan) if found["kind"] == kind)))
    assert not errors_of(manifest)
    inside = manifest
    for part in path[:-1]:
        inside = inside[part]
    inside[path[-1]] = value
    assert errors_of(manifest)


def test_limits_of_the_rules_are_those_of_the_crds_of_kueue() -> None:
    """CAP001, CAP002 and CAP003 use the limits of the CRDs."""
    spec = schemas()[API, "ClusterQueue"]["properties"]["spec"]["properties"]
    group = spec["resourceGroups"]["items"]["properties"]
    flavor = schemas()[API, "ResourceFlavor"]["properties"]["spec"]["properties"]
    assert group["flavors"]["maxItems"] == capacity.MOST_FLAVORS
    assert group["coveredResources"]["maxItems"] == capacity.MOST_RESOURCES
    assert flavor["nodeLabels"]["maxProperties"] == capacity.MOST_LABELS
    assert flavor["nodeTaints"]["maxItems"] == capacity.MOST_TAINTS
    assert flavor["tolerations"]["maxItems"] >= capacity.MOST_TAINTS


@pytest.mark.parametrize("kind", ["local", "existing", "eks"])
def test_every_value_of_the_release_exists_in_the_chart(kind: str) -> None:
    target = {"kind": kind, **({"region": "us-west-2"} if kind == "eks" else {})}
    release = next(made for made in planned_unchecked(SYSTEM, target=target).releases if made.name == "kueue")
    assert list(missing_values(release.values, chart_values("kueue"))) == []
    assert list(missing_values({"controllerManager": {"manger": {}}, "x": 1}, chart_values("kueue"))) == [
        "controllerManager.manger",
        "x",
    ]


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield key
            yield from _keys(part)
    elif isinstance(value, list):
        for part in value:
            yield from _keys(part)


def test_every_key_of_the_configuration_is_known_to_the_chart() -> None:
    """The values of the chart list all keys, most in comments; Kueue itself rejects unknown keys at start."""
    text = chart_values("kueue")["managerConfig"]["controllerManagerConfigYaml"]
    known = set(re.findall(r"^[#\s-]*([A-Za-z]+):", text, re.MULTILINE))
    (release,) = planned_unchecked(SYSTEM, target={"kind": "existing"}).releases
    ours = json.loads(release.values["managerConfig"]["controllerManagerConfigYaml"])
    kinds = ours["controller"].pop("groupKindConcurrency")  # any kind may stand there
    assert all(re.fullmatch(r"[A-Z]\w+(\.[a-z0-9.-]+)?", kind) for kind in kinds)
    assert set(_keys(ours)) - known == set()
    assert ours["apiVersion"] == yaml.load(text, yaml.CSafeLoader)["apiVersion"]
    assert set(ours["integrations"]["frameworks"]) <= set(
        yaml.load(text, yaml.CSafeLoader)["integrations"]["frameworks"]
    )


def test_the_controller_pod_has_the_requests_of_the_chart() -> None:
    (pod,) = planned_unchecked(SYSTEM, target={"kind": "existing"}).pods
    chart = chart_values("kueue")["controllerManager"]
    asked = chart["manager"]["resources"]["requests"]
    assert {name: parse(name, amount) for name, amount in asked.items()} | {"pods": chart["replicas"]} == pod.requests
    assert (chart["nodeSelector"], chart["tolerations"]) == (pod.node_selector, [])
