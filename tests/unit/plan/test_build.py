"""The whole plan: ids, needs, ownership, stability, and its document."""

import json
import random
import re
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlcluster.plan import build, names
from mlcluster.plan.document import to_document, to_json
from mlcluster.plan.model import Plan
from mlcluster.report.plan_yaml import to_yaml
from mlcluster.rules import findings
from mlcluster.spec.yaml_reader import read_yaml
from tests.specs import EXISTING, SHARED, SYSTEM, TRAIN, Data, checked, cluster, planned, planned_unchecked
from tests.strategies import cluster_data
from tests.unit.plan.test_needs import in_order

pytestmark = pytest.mark.unit

TEAMS: list[Data] = [
    {"name": "research", "guarantee": {"train": {"nodes": 4}}, "borrow": "all"},
    {"name": "products", "guarantee": {"train": {"nodes": 2}, "system": {"nodes": 1}}},
    {"name": "students", "borrow": {"system": {"nodes": 1}}},
]
CAMEL = re.compile(r"[a-z][a-zA-Z0-9]*")
DATED = re.compile(r"\d{4}-\d{2}-\d{2}T")


def ids(plan: Plan) -> list[str]:
    return [entry.id for part in (plan.resources, plan.releases, plan.objects) for entry in part]


def manifests_of(plan: Plan) -> list[dict[str, Any]]:
    nodes = [entry.inputs for entry in plan.resources if entry.id.startswith("Node/")]
    return [entry.manifest for entry in plan.objects] + nodes


def sound(plan: Plan) -> None:
    """Properties of every plan."""
    assert in_order(plan)
    for manifest in manifests_of(plan):
        labels = manifest["metadata"]["labels"]
        assert labels[names.MANAGED_BY] == names.MANAGER
        assert labels[names.CLUSTER] == plan.cluster.name
    for tags in (entry.inputs["tags"] for entry in plan.resources if "tags" in entry.inputs):
        assert tags[names.MANAGED_BY] == names.MANAGER
        assert tags[names.CLUSTER] == plan.cluster.name
    assert [entry.id for entry in plan.objects] == sorted(entry.id for entry in plan.objects)
    assert all(entry.spec_path for part in (plan.resources, plan.releases, plan.objects) for entry in part)


def camel(document: Any) -> None:
    """Keys of mlcluster are camelCase, except in documents of other systems and in amounts by resource name."""
    if isinstance(document, list):
        for part in document:
            camel(part)
    elif isinstance(document, dict):
        opaque = {
            "manifest", "values", "inputs", "labels", "selector", "allocatable", "overhead", "usable", "nominal",
            "borrowing", "lending", "remainder", "nodeSelector", "tolerations", "requests", "shares", "defaultRequests",
            "defaultContainers", "limits", "reserved", "controllers", "nodeShare", "daemonSets", "guaranteed",
            "unassigned", "node",
        }  # fmt: skip
        for key, part in document.items():
            assert CAMEL.fullmatch(key), key
            if key not in opaque:
                camel(part)


@settings(max_examples=60)
@given(cluster_data())
def test_every_valid_spec_plans_and_its_plan_serialises(data: Data) -> None:
    spec = checked(data)
    plan = build(spec)
    sound(plan)
    text = to_json(plan)
    assert text == to_json(build(spec))
    document = json.loads(text)
    camel(document)
    assert document == to_document(plan)
    assert all(finding.message for finding in findings(plan, spec))


@pytest.mark.parametrize("target", [{"kind": "eks", "region": "us-west-2"}, EXISTING])
def test_every_target_has_a_plan(target: Data) -> None:
    plan = planned_unchecked(*_pools(target), target=target, teams=TEAMS)
    sound(plan)
    assert bool(plan.resources) is (target["kind"] == "eks")


@settings(max_examples=25)
@given(cluster_data(targets=("eks",)))
def test_every_eks_plan_is_sound(data: Data) -> None:
    """No cycle, no missing need, managed labels on everything, and the same bytes again."""
    spec = checked(data)
    plan = build(spec)
    sound(plan)
    assert to_json(plan) == to_json(build(spec))
    assert all(finding.message for finding in findings(plan, spec))
    groups = [entry for entry in plan.resources if entry.id.startswith("NodeGroup/")]
    assert [entry.id.removeprefix("NodeGroup/") for entry in groups] == sorted(pool.name for pool in plan.pools)


def _pools(target: Data) -> list[Data]:
    selected = target["kind"] == "existing"
    return [{**pool, **({"selector": {"pool": pool["name"]}} if selected else {})} for pool in (SYSTEM, TRAIN)]


def test_the_plan_names_cluster_target_and_version() -> None:
    eks = planned_unchecked(SYSTEM, target={"kind": "eks", "region": "us-west-2"}, budget={"maxHourlyUsd": 5.0})
    assert [getattr(eks.cluster, field.name) for field in fields(eks.cluster)] == [
        "atlas", "eks", "us-west-2", "1.35", "builtin", 5.0,
    ]  # fmt: skip
    existing = planned(SYSTEM, target=EXISTING).cluster
    assert (existing.target, existing.region, existing.kubernetes_version) == ("existing", "", "")
    assert existing.kubernetes_provider == "builtin"
    local = planned(SYSTEM).cluster
    assert (local.region, local.kubernetes_provider, local.budget_usd_per_hour) == ("local", "builtin", None)


@given(st.randoms(use_true_random=False))
@settings(max_examples=20)
def test_the_order_of_the_spec_changes_no_id(rng: random.Random) -> None:
    pools, teams = [SYSTEM, TRAIN, SHARED], list(TEAMS)
    straight = planned(*pools, teams=teams)
    rng.shuffle(pools)
    rng.shuffle(teams)
    shuffled = planned(*pools, teams=teams)
    assert sorted(ids(shuffled)) == sorted(ids(straight))
    assert [entry.id for entry in shuffled.objects] == [entry.id for entry in straight.objects]
    assert {entry.id: set(entry.needs) for entry in shuffled.objects} == {
        entry.id: set(entry.needs) for entry in straight.objects
    }


def test_the_order_of_teams_changes_no_object() -> None:
    straight, turned = planned(SYSTEM, TRAIN, teams=TEAMS), planned(SYSTEM, TRAIN, teams=TEAMS[::-1])
    assert [entry.manifest for entry in straight.objects] == [entry.manifest for entry in turned.objects]


def test_another_team_changes_no_object_of_existing_teams() -> None:
    before, after = planned(SYSTEM, TRAIN, teams=TEAMS[:2]), planned(SYSTEM, TRAIN, teams=TEAMS)
    then = {entry.id: entry.manifest for entry in after.objects}
    assert all(then[entry.id] == entry.manifest for entry in before.objects if not entry.id.startswith("Cohort/"))


def test_the_document_holds_no_trace_of_where_or_when() -> None:
    text = to_json(planned(SYSTEM, TRAIN, teams=TEAMS))
    assert str(__file__).rpartition("/tests/")[0] not in text
    assert not DATED.search(text)
    assert text.endswith("}\n")


def test_the_document_names_itself_first() -> None:
    document = to_document(planned(SYSTEM, TRAIN, teams=TEAMS))
    assert list(document)[:2] == ["apiVersion", "kind"]
    assert (document["apiVersion"], document["kind"]) == ("mlcluster/v1alpha1", "Plan")
    train = document["pools"][1]
    assert (train["instanceType"], train["usdPerHourAtMin"]) == ("p5.48xlarge", 0.0)
    assert train["usdPerHourAtMax"] == pytest.approx(8 * train["price"]["usdPerHour"])


def test_other_systems_keys_stay_as_they_are() -> None:
    node = to_document(planned(SYSTEM))["resources"][0]["inputs"]
    assert node["metadata"]["labels"]["kubernetes.io/os"] == "linux"
    assert node["status"]["allocatable"]["ephemeral-storage"] == "90214Mi"


@settings(max_examples=10)
@given(cluster_data())
def test_yaml_and_json_have_the_same_content(data: Data) -> None:
    """Read back by YAML 1.2, as the next tool in a pipeline will."""
    plan = build(checked(data))
    assert read_yaml(to_yaml(plan), "plan.yaml").data == json.loads(to_json(plan))


@pytest.mark.parametrize("value", ["1e3", "0o17", "no", "1.30", "12", "true", "0x1F", "1_000", "null"])
def test_labels_that_look_like_something_else_stay_strings_in_yaml(value: str) -> None:
    plan = planned({**SYSTEM, "labels": {"version": value}})
    assert read_yaml(to_yaml(plan), "plan.yaml").data == json.loads(to_json(plan))


def test_the_same_spec_gives_the_same_plan() -> None:
    data = cluster(SYSTEM, TRAIN, teams=TEAMS)
    assert build(checked(data)) == build(checked(data))
