"""Every field of the spec is documented: descriptions, valid examples, and facts that can be found by path."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from mlcluster.cli import app
from mlcluster.spec.base import doc_of
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.field_paths import UnknownFieldError, complete_path, find_fields
from mlcluster.spec.field_reference import FieldReference, all_fields, effective_default, in_yaml, top_fields
from mlcluster.spec.pools import NodePool
from mlcluster.spec.schema import cluster_schema
from mlcluster.spec.yaml_reader import read_yaml

pytestmark = pytest.mark.unit

NEEDS_NO_EXAMPLE = {"boolean", "object", "list of objects"}


def properties(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the JSON Schema of each property."""
    for model, part in (*schema["$defs"].items(), (ClusterSpec.__name__, schema)):
        for key, field in part.get("properties", {}).items():
            yield f"{model}.{key}", field


def undescribed(schema: dict[str, Any]) -> list[str]:
    return [name for name, field in properties(schema) if not field.get("description")]


def invalid_examples(schema: dict[str, Any]) -> list[str]:
    return [
        f"{name}: {error.message}"
        for name, field in properties(schema)
        for example in field.get("examples", [])
        for error in Draft202012Validator({**field, "$defs": schema["$defs"]}).iter_errors(example)
    ]


def field_at(path: str) -> FieldReference:
    (field,) = find_fields(path)
    return field


def explained(*arguments: str, **environment: str) -> str:
    result = CliRunner().invoke(app, ["explain-spec", *arguments], env=environment)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_every_property_of_the_schema_has_a_description() -> None:
    assert undescribed(cluster_schema()) == []


def test_every_example_is_valid() -> None:
    assert invalid_examples(cluster_schema()) == []


def test_a_missing_description_and_a_wrong_example_are_found() -> None:
    broken = json.loads(json.dumps(cluster_schema()))
    del broken["$defs"]["NodePool"]["properties"]["maxSize"]["description"]
    broken["$defs"]["NodePool"]["properties"]["zones"]["examples"] = ["us-west-2a"]
    broken["$defs"]["Team"]["properties"]["guarantee"]["examples"] = [{"train": {"nodez": 1}}]
    assert undescribed(broken) == ["NodePool.maxSize"]
    assert [message.partition(":")[0] for message in invalid_examples(broken)] == ["NodePool.zones", "Team.guarantee"]


def test_every_field_that_takes_free_values_has_an_example_or_a_default() -> None:
    without = [
        field.name
        for field in all_fields()
        if field.type.name not in NEEDS_NO_EXAMPLE and not field.type.values and field.doc.example is None
    ]
    assert [name for name in without if effective_default(find_fields(name)[0]) in {"", "not set", "empty"}] == []


def test_descriptions_are_sentences() -> None:
    for field in all_fields():
        assert field.description.endswith("."), field.name
        assert field.description[0].isupper() or field.description.startswith(("cert-", "kube-")), field.name


def test_examples_are_written_as_the_reader_reads_them() -> None:
    for field in all_fields():
        if field.doc.example is not None:
            text = f"{field.key}: {in_yaml(field.doc.example)}"
            assert read_yaml(text, "x").data == {field.key: field.doc.example}


def test_numbers_with_a_unit_in_their_name_have_it() -> None:
    units = {"Mib": "MiB", "Gib": "GiB", "Seconds": "seconds", "Days": "days", "Usd": "USD", "Percent": "percent"}
    for field in all_fields():
        for suffix, unit in units.items():
            if field.key.endswith(suffix):
                assert field.doc.unit.startswith(unit), field.name


def test_targets() -> None:
    assert field_at("nodePools[].rootVolume.size").targets == ("eks",)
    assert field_at("nodePools[].selector").targets == ("existing",)
    assert field_at("target.region").targets == ("eks",)
    assert field_at("target.kubernetesProvider").targets == ("eks", "existing")
    assert field_at("nodePools[].maxSize").all_targets
    assert {field.targets for field in find_fields("target.zones")} == {("eks",), ("local",)}
    assert field_at("target.kind").type.values == ("eks", "existing", "local")


def test_types() -> None:
    assert field_at("nodePools[].maxSize").type.constraints == ("1 to 5,000",)
    assert field_at("teams[].borrow").type.name == "string or map of POOL to string or object"
    assert field_at("teams[].network.egress").type.values == ("internet", "cluster", "none")
    assert field_at("budget.maxHourlyUsd").type.constraints == ("greater than 0",)
    assert field_at("target.network.privateSubnets").type.name == "map of ZONE to string"


def test_defaults() -> None:
    assert effective_default(field_at("nodePools[].minSize")) == "0"
    assert effective_default(field_at("nodePools[].maxSize")) == ""
    assert effective_default(field_at("teams[].tiers")) == "every tier"
    assert effective_default(field_at("target.kubernetesVersion")) == '"1.35"'
    assert effective_default(field_at("nodePools[].labels")) == "empty"
    assert effective_default(field_at("components.kueue.values")) == "empty"
    assert effective_default(field_at("nodePools[].gpu.mig")) == "not set"


def test_every_field_is_found_by_its_path() -> None:
    for field in all_fields():
        assert field in find_fields(field.name)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("nodePools.0.minSize", "nodePools[].minSize"),
        ("nodePools[0].minSize", "nodePools[].minSize"),
        ("nodePools.minSize", "nodePools[].minSize"),
        ("nodePools[1] (train).minSize", "nodePools[].minSize"),
        (".nodePools[]", "nodePools"),
        ("teams[].guarantee.POOL.gpus", "teams[].guarantee.POOL.gpus"),
        ("teams[2].guarantee.train.gpus", "teams[].guarantee.POOL.gpus"),
        ('teams[2].guarantee["train"].gpus', "teams[].guarantee.POOL.gpus"),
        (
            "components.rdmaDevicePlugin.resources['rdma/hca'].vendors",
            "components.rdmaDevicePlugin.resources.RESOURCE.vendors",
        ),
        ('nodePools[].labels["example.com/purpose"]', "nodePools[].labels"),
        ("nodePools[].labels.example.com/purpose", "nodePools[].labels"),
        ("target.zones[0]", "target.zones"),
    ],
)
def test_paths_with_items_and_keys(path: str, name: str) -> None:
    assert {field.name for field in find_fields(path)} == {name}


@pytest.mark.parametrize(
    ("path", "happened", "hint"),
    [
        ("nodePools[].minSise", "nodePools[] has no field minSise", "Did you mean nodePools[].minSize?"),
        ("nodepools", "the spec has no field nodepools", "Did you mean nodePools?"),
        ("podSecurity", "the spec has no field podSecurity", "Did you mean teams[].podSecurity?"),
        ("teams[].guarantee.train.nodez", "teams[].guarantee.POOL has no field nodez", "guarantee.POOL.nodes?"),
        ("apiVersion.x", "apiVersion is of type string and has no fields", "Remove .x."),
        ("budget.zzz", "budget has no field zzz", "Its fields are maxHourlyUsd."),
        ("", '"" is not the path of a field', "such as nodePools[].minSize"),
        ("]", '"]" is not the path of a field', "such as nodePools[].minSize"),
    ],
)
def test_unknown_paths(path: str, happened: str, hint: str) -> None:
    with pytest.raises(UnknownFieldError) as caught:
        find_fields(path)
    assert caught.value.happened == happened
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("incomplete", "completions"),
    [
        ("budg", ["budget", "budget.maxHourlyUsd"]),
        ("co", ["components", "cohorts"]),
        ("nodePools[].m", ["nodePools[].minSize", "nodePools[].maxSize"]),
        ("nodePools.0.gpu.mp", ["nodePools.0.gpu.mps", "nodePools.0.gpu.mps.replicas"]),
        ("coh", ["cohorts", "cohorts[].name", "cohorts[].share"]),
        ("zzz.", []),
        ("zzz", []),
    ],
)
def test_completion_of_paths(incomplete: str, completions: list[str]) -> None:
    assert complete_path(incomplete) == completions


def test_the_shell_completes_the_argument_of_explain_spec() -> None:
    line = {"_MLCLUSTER_COMPLETE": "complete_bash", "COMP_WORDS": "mlcluster explain-spec budg", "COMP_CWORD": "2"}
    result = CliRunner().invoke(app, [], prog_name="mlcluster", env=line)
    assert result.stdout.split() == ["budget", "budget.maxHourlyUsd"]


def test_fields_for_eks_alone_are_marked_in_the_models() -> None:
    assert doc_of(NodePool.model_fields["root_volume"]).targets == ("eks",)
    assert doc_of(NodePool.model_fields["capacity"]).targets == ()


def test_explain_spec_shows_the_facts_and_the_fields_inside() -> None:
    text = explained("nodePools[].gpu.timeSlicing")
    assert "Share each GPU by time-slicing." in text
    assert "replicas  integer (required)" in text
    assert "Fields of teams[].borrow.POOL" in explained("teams.borrow")
    facts = explained("nodePools[].rootVolume.throughputMib")
    for part in ("integer; 125 to 2,000", "MiB/s", "125, set by AWS", "eks", "throughputMib: 500"):
        assert part in facts


def test_explain_spec_without_a_path_shows_the_top_level() -> None:
    lines = explained(COLUMNS="200").splitlines()
    assert lines[0] == "Fields of a spec"
    assert [line.split()[0] for line in lines[2:]] == [field.key for field in top_fields()]


def test_explain_spec_honors_the_width_and_no_color() -> None:
    narrow = explained("nodePools", COLUMNS="80", FORCE_COLOR="1", NO_COLOR="1")
    assert max(map(len, narrow.splitlines())) <= 80
    assert "\x1b" not in narrow
    assert "DESCRIPTION" in explained("nodePools", COLUMNS="30"), "no column is left out"
    assert "\x1b" in explained("nodePools", FORCE_COLOR="1")


def test_explain_spec_as_json() -> None:
    (pools,) = json.loads(explained("nodePools", "-o", "json"))["fields"]
    fields = {field["path"]: field for field in pools["fields"]}
    assert fields["nodePools[].maxSize"]["required"] is True
    assert fields["nodePools[].maxSize"]["example"] == 8
    assert fields["nodePools[].minSize"]["default"] == 0
    top = json.loads(explained("-o", "json"))
    assert [field["path"] for field in top["fields"]] == [field.name for field in top_fields()]


def test_explain_spec_of_an_unknown_field() -> None:
    result = CliRunner().invoke(app, ["explain-spec", "nodePools[].minSise"])
    assert result.exit_code == 2
    assert "Did you mean nodePools[].minSize?" in result.stderr


@pytest.mark.parametrize("path", ['nodePools["\x1b[31mred"]', "\x1b[31m..", 'kind["\x1b"]', "a" * 10_000])
def test_errors_are_printable_and_short(path: str) -> None:
    with pytest.raises(UnknownFieldError) as caught:
        find_fields(path)
    told = f"{caught.value.happened} {caught.value.hint}"
    assert told.isprintable()
    assert len(told) < 1000
