"""The JSON Schema: committed, stable, and of one opinion with the models about shapes."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator

from mlcluster.commands.init import starter
from mlcluster.commands.schema import schema_text
from mlcluster.spec.load import parse
from mlcluster.spec.schema import allowed_shapes, allowed_words, described, known_keys
from mlcluster.spec.yaml_reader import read_yaml
from tests.strategies import cluster_data

pytestmark = pytest.mark.unit

POINTER = "# yaml-language-server: $schema=cluster.schema.json"


def data_of(path: Path) -> Any:
    return read_yaml(path.read_text(encoding="utf-8"), path.name).data


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    schema = json.loads(schema_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def test_the_committed_schema_is_the_one_of_the_models(project_root: Path, update_golden: bool) -> None:
    committed = project_root / "examples" / "cluster.schema.json"
    if update_golden:
        committed.write_text(schema_text(), encoding="utf-8")
    assert committed.read_text(encoding="utf-8") == schema_text()


def test_every_example_fits_and_points_to_the_schema(project_root: Path, validator: Draft202012Validator) -> None:
    examples = sorted((project_root / "examples").glob("*.yaml"))
    assert examples
    for example in examples:
        assert example.read_text(encoding="utf-8").splitlines()[0] == POINTER, example.name
        assert not list(validator.iter_errors(data_of(example))), example.name


@pytest.mark.parametrize("target", ["local", "existing", "eks"])
def test_every_starter_fits(target: str, validator: Draft202012Validator) -> None:
    assert not list(validator.iter_errors(read_yaml(starter(target, "atlas"), "x").data))


@pytest.mark.parametrize(
    "name", ["unknown-keys", "misspelt-words", "out-of-range", "names-malformed", "wrong-shapes", "target-unknown"]
)
def test_an_editor_sees_broken_shapes(name: str, project_root: Path, validator: Draft202012Validator) -> None:
    assert list(validator.iter_errors(data_of(project_root / "tests" / "broken" / f"{name}.yaml")))


def test_homes_of_anchors_are_allowed(validator: Draft202012Validator) -> None:
    data = read_yaml(starter("local", "atlas"), "x").data
    assert not list(validator.iter_errors({**data, "x-base": {"any": ["thing"]}}))
    assert list(validator.iter_errors({**data, "y-base": {}}))


@settings(max_examples=25)
@given(cluster_data(targets=("local", "existing", "eks")))
def test_random_specs_fit(data: dict[str, Any]) -> None:
    assert not list(Draft202012Validator(json.loads(schema_text())).iter_errors(data))


def test_questions_to_the_schema() -> None:
    data = {"target": {"kind": "eks"}}
    assert list(known_keys(("target",), data))[:4] == ["kind", "region", "kubernetesVersion", "accountId"]
    assert list(known_keys(("teams", 0, "borrow", "train"), data)) == ["nodes", "gpus", "slices"]
    assert allowed_words(("teams", 0, "borrow"), data) == ["all", "none"]
    assert allowed_shapes(("teams", 0, "network", "egress"), data) == ["a list"]
    assert described(("nodePools", 0, "maxSize"), data) == "Maximum number of nodes"
    assert known_keys(("nothing", 0, "here"), data) == {}


def test_the_schema_describes_every_top_level_field() -> None:
    properties = json.loads(schema_text())["properties"]
    assert all(described((name,), {}) or "const" in field for name, field in properties.items())


def test_defaults_of_the_schema_equal_those_of_the_models() -> None:
    spec = parse(starter("local", "atlas").encode(), "x").spec
    pool = json.loads(schema_text())["$defs"]["NodePool"]["properties"]
    assert pool["minSize"]["default"] == spec.node_pools[1].min_size
