"""Every chart, rendered with every set of values of the examples and golden specs, against plan and catalog.

`tests/charts/facts.json` is the table of the rendered objects; `python -m tests.charts.table` writes it.
"""

import pytest

from mlcluster.catalog.components import ComponentPin, pins
from mlcluster.catalog.residue import residue_of
from mlcluster.catalog.signatures import Signature, all_signatures
from mlcluster.charts.archives import exact
from mlcluster.lab.toolchain import Toolchain
from tests.charts import comparison, sources, table
from tests.charts.archive_versions import DIFFERENT
from tests.charts.rendered import Rendered, rendered_charts
from tests.charts.sets import chart_names

pytestmark = [pytest.mark.lab, sources.needs_archives]

CHARTS = chart_names()


@pytest.fixture(scope="module")
def charts(toolchain: Toolchain) -> dict[str, list[Rendered]]:
    """Return every rendered set of values, by chart."""
    return rendered_charts(toolchain.path("helm"))


def pin_of(chart: str) -> ComponentPin:
    return next(pin for pin in pins().values() if pin.chart.rpartition("/")[2] == chart)


def signs_of(chart: str) -> Signature | None:
    return all_signatures().get(pin_of(chart).name)


@pytest.fixture(params=CHARTS)
def chart(request: pytest.FixtureRequest, charts: dict[str, list[Rendered]]) -> str:
    """Return each chart of the catalog."""
    name: str = request.param
    assert name in charts, f"there is no archive of {name}: run `make charts` to pull it with helm"
    return name


def test_the_archive_has_the_version_of_the_pin(chart: str) -> None:
    """Another version is allowed only where `archive_versions` records it, and the test is skipped there."""
    pinned = pin_of(chart).version
    if exact(sources.at_hand(), chart, pinned) is not None:
        return
    assert DIFFERENT[chart][0] == pinned
    assert exact(sources.at_hand(), chart, DIFFERENT[chart][1]) is not None
    pytest.skip(f"Expected without `make charts`: {chart} {DIFFERENT[chart][1]} is compared instead of {pinned}")


def test_pods_of_the_plan_are_those_of_the_chart(chart: str, charts: dict[str, list[Rendered]]) -> None:
    found = [
        f"{one.of.spec}: {text}"
        for one in charts[chart]
        if one.of.release.realisation in {"helm", "simulated"}
        for text in comparison.pod_mismatches(one.of.plan, one.of.release, one.facts)
    ]
    assert not found, "\n".join(found)


def test_crds_that_a_release_waits_for_are_in_the_chart(chart: str, charts: dict[str, list[Rendered]]) -> None:
    for one in charts[chart]:
        assert not set(one.of.release.crds) - set(one.facts.crds), one.of.spec


def test_residue_of_the_chart_is_in_the_catalog(chart: str, charts: dict[str, list[Rendered]]) -> None:
    assert (
        comparison.residue_mismatches(residue_of(pin_of(chart).name), chart, [one.facts for one in charts[chart]]) == []
    )


def test_detection_signatures_match_the_objects_of_the_chart(chart: str, charts: dict[str, list[Rendered]]) -> None:
    signatures = signs_of(chart)
    if signatures is not None:
        assert comparison.signature_mismatches(signatures, chart, [one.facts for one in charts[chart]]) == []


def test_every_image_comes_from_the_mirror(chart: str, toolchain: Toolchain, charts: dict[str, list[Rendered]]) -> None:
    mirrored = comparison.mirrored(charts[chart][0].of)
    facts = rendered_charts(toolchain.path("helm"), (mirrored,))[chart][0].facts
    elsewhere = [image for image in facts.images if not image.startswith(f"{comparison.MIRROR}/")]
    known = comparison.NOT_PULLED.get(chart, frozenset())
    assert [image for image in elsewhere if comparison.repository(image) not in known] == []


def test_the_committed_table_equals_the_rendered_charts(charts: dict[str, list[Rendered]]) -> None:
    assert table.load() == table.made(charts), "run `python -m tests.charts.table` and read the difference"
