"""docs/components.md is generated from the catalog and complete, and the spec of every row plans its component."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from docs.generators.components_page import components_page
from mlcluster.catalog.components import pins
from mlcluster.catalog.guide import Topic, topics
from mlcluster.plan.components.index import COMPONENTS
from mlcluster.plan.components.system_nodes import sets_on
from mlcluster.plan.document import to_document
from mlcluster.plan.model import PlanRelease
from mlcluster.plan.value_paths import dotted, leaf_values
from tests.specs import plan_of_file

pytestmark = pytest.mark.golden

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "components.md"
SPECS = sorted([*(ROOT / "examples").glob("*.yaml"), *(ROOT / "tests/golden/components").glob("*/cluster.yaml")])
NAMED_BY_GUIDES = {
    "GPU Operator", "Driver", "Container toolkit", "Device plugin", "GPU feature discovery", "DCGM exporter",
    "MIG manager",
    "DCGM metrics", "Alert: GPU underused", "Alert: XID and ECC errors", "Alert: out of memory",
    "Time-slicing", "MIG", "MPS", "RDMA rdma/hca", "Multus", "EFA", "Kueue", "Kueue cohorts", "Volcano",
    "Kubeflow Trainer", "MPI Operator", "KEDA", "HPA on GPU metrics", "KServe", "Cluster Autoscaler", "Karpenter",
}  # fmt: skip


def test_the_page_is_made_from_the_catalog(update_golden: bool) -> None:
    if update_golden:
        PAGE.write_text(components_page(), encoding="utf-8")
    assert PAGE.read_text("utf-8") == components_page()


def test_everything_that_guides_name_has_a_row() -> None:
    assert {topic.name for topic in topics()} >= NAMED_BY_GUIDES


@pytest.mark.parametrize("topic", topics(), ids=lambda topic: topic.name)
def test_a_row_adds_its_component_to_the_plan(topic: Topic) -> None:
    plan = plan_of_file(ROOT / topic.spec)
    listed = {component.name for component in plan.components}
    assert set(topic.components) <= listed
    document = to_document(plan)
    for part, text in topic.shows.items():
        assert text in json.dumps(document[part]), part
    assert topic.shows


@pytest.mark.parametrize("topic", topics(), ids=lambda topic: topic.name)
def test_the_spec_of_a_row_has_the_field_of_the_row(topic: Topic) -> None:
    asked, spec = yaml.safe_load(topic.asks), yaml.safe_load((ROOT / topic.spec).read_text("utf-8"))
    assert stands_in(asked, spec)
    assert topic.tested
    assert all((ROOT / path).is_file() for path in topic.tested)


def stands_in(asked: Any, spec: Any) -> bool:
    """Return whether the spec has every key and item of `asked` at its place; null requires only the key."""
    if isinstance(asked, Mapping):
        return isinstance(spec, Mapping) and all(key in spec and stands_in(asked[key], spec[key]) for key in asked)
    if isinstance(asked, list):
        return isinstance(spec, list) and all(any(stands_in(item, entry) for entry in spec) for item in asked)
    return asked is None or bool(asked == spec)


@pytest.mark.parametrize("name", COMPONENTS)
def test_a_component_has_a_complete_section(name: str) -> None:
    pin = pins()[name]
    assert pin.why
    assert pin.removal
    assert pin.sets
    assert pin.checks


def untold(release: PlanRelease) -> list[str]:
    """Return the paths of values of a release that the page does not document."""
    charts = {pin.chart.rpartition("/")[2]: pin for pin in pins().values() if pin.chart}
    pin = charts[release.chart.rpartition("/")[2]] if release.chart else pins()[release.name]
    known = {*sets_on({"any": "label"}, pin.sets), *pin.images, *map(dotted, release.overrides)}
    paths = [dotted(path) for path, _ in leaf_values(release.values)]
    return [path for path in paths if not any(path == key or path.startswith(f"{key}.") for key in known)]


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.parent.name if path.stem == "cluster" else path.stem)
def test_every_value_that_a_plan_sets_is_documented(path: Path) -> None:
    assert {release.name: untold(release) for release in plan_of_file(path).releases if untold(release)} == {}
