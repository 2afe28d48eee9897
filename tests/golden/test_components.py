"""A golden for every component: the smallest spec that shows it, and what it adds to the plan."""

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


class _Flow(yaml.CSafeDumper):
    """Long lists and mappings in block style, texts of several lines as they read."""


def _text(dumper: yaml.CSafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Flow.add_representer(str, _text)


def added(name: str) -> str:
    """What the component brings, as YAML: its line in the list, its releases, objects and pods, labels of pools."""
    loaded = load(HERE / name / "cluster.yaml")
    plan = build(loaded.spec)
    document = to_document(plan)
    path = next(entry["specPath"] for entry in document["components"] if entry["name"] == name)
    bare = build(loaded.spec.model_copy(update={"components": type(loaded.spec.components)()}))
    without = {entry.id: entry for part in (bare.releases, bare.objects, bare.resources) for entry in part}

    def new(part: str) -> list[dict[str, Any]]:
        entries = {entry.id: entry for entry in getattr(plan, part)}
        return [
            entry
            for entry in document[part]
            if entry["specPath"] == path or without.get(entry["id"]) != entries[entry["id"]]
        ]

    parts = {
        "components": [entry for entry in document["components"] if entry["specPath"] == path],
        "releases": new("releases"),
        "objects": new("objects"),
        "resources": [entry["id"] for entry in new("resources")],
        "pods": [entry for entry in document["pods"] if entry["specPath"] == path or _is_new(entry, bare)],
        "labels": {pool["name"]: pool["labels"] for pool in document["pools"]},
        "usable": {pool["name"]: pool["usable"] for pool in document["pools"]},
        "findings": [f"{finding.id} {finding.message}" for finding in findings(plan, loaded.spec)],
    }
    return yaml.dump(parts, Dumper=_Flow, sort_keys=False, width=150, allow_unicode=True)


def _is_new(entry: dict[str, object], bare: object) -> bool:
    known = {(pod.owner, pod.name) for pod in getattr(bare, "pods", ())}
    return (entry["owner"], entry["name"]) not in known


@pytest.mark.parametrize("name", COMPONENTS)
def test_what_a_component_adds(name: str, update_golden: bool) -> None:
    text, golden = added(name), HERE / name / "plan.yaml"
    if update_golden:
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_every_folder_is_a_component() -> None:
    assert {path.name for path in HERE.iterdir()} == set(COMPONENTS)
