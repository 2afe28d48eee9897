"""CPU limits of charts that stay in force beside the values of the plan: Helm merges both key by key."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from mlcluster.plan import build
from mlcluster.plan.model import PlanRelease
from mlcluster.quantities import parse
from mlcluster.spec.load import load
from tests.charts.contents import archive_of, values
from tests.charts.sources import needs_archives

GOLDENS = Path(__file__).parents[3] / "golden" / "components"
pytestmark = [pytest.mark.unit, needs_archives]


def merged(ours: Any, theirs: Any) -> Any:
    """Return values as Helm merges them: mappings key by key, everything else as a whole."""
    if not isinstance(ours, Mapping) or not isinstance(theirs, Mapping):
        return ours
    return {**theirs, **{key: merged(value, theirs.get(key)) for key, value in ours.items()}}


def resources(found: Any, at: str = "", *, whole: bool = True) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each `resources` with its path; with `whole` only those that have requests and limits."""
    if isinstance(found, Mapping):
        for key, value in found.items():
            complete = isinstance(value, dict) and {"requests", "limits"} <= value.keys()
            if key.endswith("resources") and (complete or not whole):
                yield f"{at}{key}", value
            yield from resources(value, f"{at}{key}.", whole=whole)


def releases() -> list[PlanRelease]:
    specs = [load(path).spec for path in sorted(GOLDENS.glob("*/cluster.yaml"))]
    found = {release.name: release for spec in specs for release in build(spec).releases}
    return list(found.values())


def test_no_controller_is_throttled_at_its_requests() -> None:
    """The charts of KubeRay and KServe limit the CPU to 100m, also if the plan sets only a memory limit."""
    seen = 0
    for release in releases():
        whole = merged(release.values, values(archive_of(release.chart, release.version)))
        ours = {path for path, _ in resources(release.values, whole=False)}
        for path, found in resources(whole):
            limit, request = (found[part].get("cpu") for part in ("limits", "requests"))
            if limit is None or request is None or path not in ours:
                continue
            seen += 1
            assert parse("cpu", str(limit)) >= 2 * parse("cpu", str(request)), f"{release.name}: {path}"
    assert seen >= 4
