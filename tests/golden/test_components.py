"""A golden for every component: the smallest spec with it, and its changes to the plan without components."""

import json
from collections.abc import Mapping
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest
import yaml

from mlcluster.plan import build
from mlcluster.plan.components.index import COMPONENTS
from mlcluster.plan.document import to_document
from mlcluster.rules import findings
from mlcluster.spec.load import load

pytestmark = pytest.mark.golden

HERE = Path(__file__).parent / "components"


class _Dumper(yaml.CSafeDumper):
    """Writes texts of several lines as blocks."""


def _text(dumper: yaml.CSafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def changes_of(name: str) -> str:
    """Return the changes of a component to a plan as YAML: new entries whole, and a diff of each changed entry."""
    loaded = load(HERE / name / "cluster.yaml")
    plan = build(loaded.spec)
    document = to_document(plan)
    path = next(entry["specPath"] for entry in document["components"] if entry["name"] == name)
    bare = to_document(build(loaded.spec.model_copy(update={"components": type(loaded.spec.components)()})))
    without = {entry["id"]: entry for part in ("releases", "objects", "resources") for entry in bare[part]}

    def new(part: str) -> list[dict[str, Any]]:
        return [entry for entry in document[part] if entry["specPath"] == path or entry["id"] not in without]

    def changed(part: str) -> list[dict[str, Any]]:
        return [entry for entry in document[part] if entry not in new(part) and without[entry["id"]] != entry]

    parts = {
        "components": [entry for entry in document["components"] if entry["specPath"] == path],
        "releases": new("releases"),
        "objects": [_compact(entry) for entry in new("objects")],
        "changed": {
            entry["id"]: _diff(without[entry["id"]], entry)
            for part in ("releases", "objects")
            for entry in changed(part)
        },
        "resources": [entry["id"] for entry in (*new("resources"), *changed("resources"))],
        "pods": [entry for entry in document["pods"] if entry["specPath"] == path or _is_new(entry, bare)],
        "labels": {pool["name"]: pool["labels"] for pool in document["pools"]},
        "usable": {pool["name"]: pool["usable"] for pool in document["pools"]},
        "findings": [f"{finding.id} {finding.message}" for finding in findings(plan, loaded.spec)],
    }
    return _yaml(parts)


def _compact(entry: dict[str, Any]) -> dict[str, Any]:
    """Return an object with the JSON of its dashboards as compact YAML, which has a third of the lines."""
    data = entry["manifest"].get("data") or {}
    shorter = {
        key: yaml.dump(json.loads(text), Dumper=_Dumper, default_flow_style=None, sort_keys=False, width=150)
        for key, text in data.items()
        if key.startswith("mlcluster-") and key.endswith(".json")
    }
    return {**entry, "manifest": {**entry["manifest"], "data": {**data, **shorter}}} if shorter else entry


def _yaml(content: object) -> str:
    return yaml.dump(content, Dumper=_Dumper, sort_keys=False, width=150, allow_unicode=True)


def _diff(before: object, after: object) -> str:
    """Return the changed lines of an entry as YAML, each with two lines around it."""
    lines = unified_diff(_yaml(before).splitlines(), _yaml(after).splitlines(), n=2, lineterm="")
    return "".join(f"{line.rstrip()}\n" for line in list(lines)[2:])


def _is_new(entry: Mapping[str, Any], bare: Mapping[str, Any]) -> bool:
    return (entry["owner"], entry["name"]) not in {(pod["owner"], pod["name"]) for pod in bare["pods"]}


@pytest.mark.parametrize("name", COMPONENTS)
def test_a_component_changes_the_plan_as_its_golden_shows(name: str, update_golden: bool) -> None:
    text, golden = changes_of(name), HERE / name / "plan.yaml"
    if update_golden:
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_every_folder_is_a_component() -> None:
    assert {path.name for path in HERE.iterdir()} == set(COMPONENTS)
