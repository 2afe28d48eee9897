"""CPU limits that stay in force when our values meet those of a chart, which Helm merges key by key."""

import tarfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from mlcluster.plan import build
from mlcluster.plan.model import PlanRelease
from mlcluster.quantities import parse
from mlcluster.spec.load import load
from tests.upstream import ABSENT, REFERENCE

ARCHIVES = REFERENCE / "chart-archives"
GOLDENS = Path(__file__).parents[3] / "golden" / "components"
pytestmark = [pytest.mark.unit, pytest.mark.skipif(not ARCHIVES.is_dir(), reason=ABSENT)]


@cache
def values_of(chart: str) -> dict[str, Any]:
    """The values of a chart by itself, {} where its archive is not at hand."""
    for path in ARCHIVES.glob(f"{chart}-*.tgz"):
        with tarfile.open(path) as archive:
            found = next((one for one in archive if one.name == f"{chart}/values.yaml"), None)
            file = None if found is None else archive.extractfile(found)
            if file is not None:
                return dict(yaml.load(file.read(), yaml.CSafeLoader) or {})
    return {}


def merged(ours: Any, theirs: Any) -> Any:
    """Values as Helm merges them: mappings key by key, everything else as a whole."""
    if not isinstance(ours, dict) or not isinstance(theirs, dict):
        return ours
    return {**theirs, **{key: merged(value, theirs.get(key)) for key, value in ours.items()}}


def resources(values: Any, at: str = "", *, whole: bool = True) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every set of resources, with its path; with `whole` only those that have requests and limits."""
    if isinstance(values, dict):
        for key, value in values.items():
            complete = isinstance(value, dict) and {"requests", "limits"} <= value.keys()
            if key.endswith("resources") and (complete or not whole):
                yield f"{at}{key}", value
            yield from resources(value, f"{at}{key}.", whole=whole)


def releases() -> list[PlanRelease]:
    specs = [load(path).spec for path in sorted(GOLDENS.glob("*/cluster.yaml"))]
    found = {release.name: release for spec in specs for release in build(spec).releases}
    return list(found.values())


def test_no_controller_is_throttled_at_what_it_requests() -> None:
    """KubeRay's and KServe's charts limit the CPU to 100m, which stays beside a memory limit of ours."""
    seen = 0
    for release in releases():
        whole = merged(release.values, values_of(release.chart.rpartition("/")[2]))
        ours = {path for path, _ in resources(release.values, whole=False)}
        for path, found in resources(whole):
            limit, request = (found[part].get("cpu") for part in ("limits", "requests"))
            if limit is None or request is None or path not in ours:
                continue
            seen += 1
            assert parse("cpu", str(limit)) >= 2 * parse("cpu", str(request)), f"{release.name}: {path}"
    assert seen >= 4
