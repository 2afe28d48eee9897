"""Every planned value and every custom resource against upstream's own files."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mlcluster.catalog.components import pins
from mlcluster.plan.value_paths import dotted
from mlcluster.plan.values import references
from tests.specs import plan_of_file
from tests.upstream import errors_of, has_values, needs_reference, schemas, unknown_values

ROOT = Path(__file__).parents[4]
SPECS = sorted([*(ROOT / "examples").glob("*.yaml"), *(ROOT / "tests/golden/components").glob("*/cluster.yaml")])

pytestmark = [pytest.mark.unit, needs_reference]


def name_of(path: Path) -> str:
    return path.parent.name if path.stem == "cluster" else path.stem


@pytest.mark.parametrize("path", SPECS, ids=name_of)
def test_every_value_exists_in_the_chart(path: Path) -> None:
    charts = {pin.chart: name for name, pin in pins().items() if pin.chart}
    for release in plan_of_file(path).releases:
        name = charts.get(release.chart, "")
        if has_values(name):
            overridden = set(map(dotted, release.overrides))
            assert [path for path in unknown_values(name, release.values) if path not in overridden] == []


@pytest.mark.parametrize("path", SPECS, ids=name_of)
def test_every_custom_resource_is_valid(path: Path) -> None:
    for entry in plan_of_file(path).objects:
        kind = (entry.manifest["apiVersion"], entry.manifest["kind"])
        # Objects with references to the cloud's resources: tests/unit/plan/eks/test_karpenter.py.
        if kind in schemas() and not list(references(entry.manifest)):
            assert errors_of(entry.manifest) == [], entry.id


def kinds() -> Iterator[tuple[str, str]]:
    for path in SPECS:
        yield from ((entry.manifest["apiVersion"], entry.manifest["kind"]) for entry in plan_of_file(path).objects)


def test_the_check_reaches_objects() -> None:
    assert len(set(kinds()) & set(schemas())) >= 5


def test_the_schemas_reject_an_invalid_object() -> None:
    assert unknown_values("gpu-operator", {"drivr": {"enabled": False}}) == ["drivr"]
    assert unknown_values("gpu-operator", {"driver": {"enabld": False}}) == ["driver.enabld"]
    queue = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "spec": {"clusterQ": "a"}}
    assert errors_of(queue)
