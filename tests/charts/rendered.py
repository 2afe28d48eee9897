"""Renders sets of values, each with the archive that is nearest to its version."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mlcluster.charts.archives import Archive, nearest
from mlcluster.charts.rendering import Renderer
from mlcluster.plan.chart_facts import ChartFacts, chart_facts
from tests.charts.sets import ValueSet, value_sets
from tests.charts.sources import at_hand

KUBERNETES = "1.35.0"


@dataclass(frozen=True)
class Rendered:
    """A set of values, the archive that it was rendered with, and the facts of the rendered objects."""

    of: ValueSet
    archive: Archive
    facts: ChartFacts


def rendered_charts(helm: Path, sets: Iterable[ValueSet] = ()) -> dict[str, list[Rendered]]:
    """Return everything rendered by chart; charts without an archive are left out.

    Args:
        sets: default: every set of values.
    """
    renderer = Renderer(helm, KUBERNETES)
    wanted = [(one, archive) for one in sets or value_sets() if (archive := _archive(one)) is not None]

    def render(item: tuple[ValueSet, Archive]) -> Rendered:
        one, archive = item
        return Rendered(one, archive, chart_facts(renderer.objects(one.release, archive.path), one.release.namespace))

    found: dict[str, list[Rendered]] = {}
    with ThreadPoolExecutor(2) as pool:
        for one in pool.map(render, wanted):
            found.setdefault(one.of.chart, []).append(one)
    return found


def _archive(one: ValueSet) -> Archive | None:
    return nearest(at_hand(), one.chart, one.release.version)
