"""Reading a deployment, and resolution of pending operations."""

import json
from typing import Any

import pytest

from mlcluster.engine.state import (
    Pending,
    foreign_in,
    parse_checkpoint,
    pending_in,
    provider_in,
    resources_in,
    with_created,
    without_retention,
)

pytestmark = pytest.mark.unit
LABELS = {"app.kubernetes.io/managed-by": "mlcluster"}


def _item(name: str, type_: str = "kubernetes:core/v1:ConfigMap", **fields: Any) -> dict[str, Any]:
    return {"urn": f"urn:pulumi:s::p::{type_}::{name}", "type": type_, **fields}


def _map(name: str) -> dict[str, Any]:
    return _item(f"ConfigMap/a/{name}", inputs={"metadata": {"name": name, "namespace": "a"}})


def test_parsing_complete_and_truncated_checkpoints() -> None:
    text = json.dumps({"version": 3, "checkpoint": {"latest": {"resources": [_map("m")]}}})
    assert parse_checkpoint(text) == {"resources": [_map("m")]}
    assert parse_checkpoint(json.dumps({"version": 3, "checkpoint": {}})) == {}
    assert [parse_checkpoint(text[:cut]) for cut in (0, 1, 20, len(text) - 1)] == [None] * 4
    assert parse_checkpoint(json.dumps({"version": 4, "checkpoint": {"latest": {}}})) is None


def test_resources_are_those_of_the_plan_by_id() -> None:
    stack, provider = _item("p-s", "pulumi:pulumi:Stack"), _item("kubernetes", "pulumi:providers:kubernetes", id="x")
    found = resources_in({"resources": [stack, provider, _map("b") | {"id": "a/b"}, _map("a")]})
    assert [(one.plan_id, one.id) for one in found] == [("ConfigMap/a/a", ""), ("ConfigMap/a/b", "a/b")]
    assert resources_in({}) == []


@pytest.mark.parametrize(
    ("inputs", "identifier"),
    [
        ({"metadata": {"name": "m", "namespace": "a"}}, "a/m"),
        ({"metadata": {"name": "a"}}, "a"),
        ({"name": "kueue", "namespace": "kueue-system", "chart": "c"}, "kueue-system/kueue"),
        ({"metadata": {}}, ""),
        ({}, ""),
    ],
)
def test_provider_ids_from_inputs(inputs: dict[str, Any], identifier: str) -> None:
    item = _item("X/x", inputs=inputs)
    (pending,) = pending_in({"pending_operations": [{"type": "creating", "resource": item}]})
    assert pending == Pending("creating", item["urn"], identifier)
    assert pending.text == "creating X/x"


@pytest.mark.parametrize(
    ("kind", "inputs", "identifier"),
    [
        ("aws:eks/nodeGroup:NodeGroup", {"clusterName": "atlas", "nodeGroupName": "train"}, "atlas:train"),
        ("aws:eks/addon:Addon", {"clusterName": "atlas", "addonName": "vpc-cni"}, "atlas:vpc-cni"),
        ("aws:iam/role:Role", {"name": "atlas-nodes"}, "atlas-nodes"),
        ("aws:eks/nodeGroup:NodeGroup", {"clusterName": "atlas"}, ""),
        ("aws:ec2/vpc:Vpc", {"cidrBlock": "10.0.0.0/16", "name": "no such input"}, ""),
        ("eks:index:Cluster", {"name": "atlas"}, ""),
    ],
)
def test_only_predictable_aws_ids_are_derived(kind: str, inputs: dict[str, Any], identifier: str) -> None:
    (pending,) = pending_in(
        {"pending_operations": [{"type": "creating", "resource": _item("X/x", kind, inputs=inputs)}]}
    )
    assert pending.id == identifier


def test_aws_resources_without_the_tag_are_foreign() -> None:
    ours = _item("Role/ours") | {"outputs": {"tags": LABELS}}
    others = _item("Role/others") | {"outputs": {"tags": {"app.kubernetes.io/managed-by": "terraform"}}}
    bare = _item("Role/bare") | {"outputs": {"tags": {}}}
    untaggable = _item("Alias/a") | {"outputs": {"name": "alias/atlas"}}
    items = [ours, others, bare, untaggable]
    assert foreign_in({"resources": items}, {item["urn"] for item in items}) == [bare["urn"], others["urn"]]


def test_retained_resources_can_be_marked_for_deletion() -> None:
    kept, other = (_item(name) | {"retainOnDelete": True} for name in ("FileSystem/a", "Key/k"))
    after = without_retention({"resources": [kept, other]}, ["FileSystem/a"])
    assert [item["retainOnDelete"] for item in after["resources"]] == [False, True]


def test_the_provider_is_derived_from_notes_in_objects() -> None:
    """`__fieldManager`: checkpointObject in provider.go of the official provider writes it, and the built-in one."""
    release = _item("Release/a", "kubernetes:helm.sh/v3:Release", outputs={"__fieldManager": "x"})
    official = {**_map("a"), "outputs": {"__fieldManager": "pulumi-kubernetes-1f2e", "__inputs": {}}}
    builtin = {**_map("b"), "outputs": {"__fieldManager": "mlcluster", "__mlclusterOwner": ""}}
    node_group = _item("g", "aws:eks/nodeGroup:NodeGroup", outputs={})
    assert provider_in({}) is provider_in({"resources": [release, node_group, _map("c")]}) is None
    assert provider_in({"resources": [release, official]}) == "official"
    assert provider_in({"resources": [builtin]}) == "builtin"


def test_pending_creations_are_added_to_the_state_once() -> None:
    operations = [
        {"type": "creating", "resource": _map("new")},
        {"type": "creating", "resource": _map("known")},
        {"type": "creating", "resource": _item("X/x", inputs={})},
        {"type": "updating", "resource": _map("known")},
    ]
    before = {"resources": [_map("known")], "pending_operations": operations, "metadata": {}}
    after, added = with_created(before)
    assert added == {_map("new")["urn"]}
    assert after["resources"][-1] == {**_map("new"), "id": "a/new", "outputs": _map("new")["inputs"]}
    assert len(after["resources"]) == 2
    assert after["pending_operations"] == [operations[3]]
    assert len(before["resources"]) == 1


def test_objects_without_the_label_are_foreign() -> None:
    ours = _map("ours") | {"outputs": {"metadata": {"labels": LABELS}}}
    others = _map("others") | {"outputs": {"metadata": {"labels": {"app.kubernetes.io/managed-by": "Helm"}}}}
    bare = _map("bare") | {"outputs": {"metadata": {"name": "bare"}}}
    release = _item("Release/r") | {"outputs": {"name": "r"}}
    items = [ours, others, bare, release]
    urns = {item["urn"] for item in items}
    assert foreign_in({"resources": items}, urns) == sorted([others["urn"], bare["urn"]])
    assert foreign_in({"resources": items}, set()) == []
