"""The exporter's file: every field is one that the exporter knows (its own files, read beside the checkout)."""

import csv

import pytest

from mlcluster.plan.observe.counters import COUNTERS, FIELDS, dcgm_counters_csv
from tests.upstream import REFERENCE, needs_reference

KINDS = {"gauge", "counter", "label"}

pytestmark = pytest.mark.unit


def lines() -> list[list[str]]:
    """Return the file as the exporter reads it: comma separated, comments left out."""
    text = [line for line in dcgm_counters_csv().splitlines() if not line.startswith("#")]
    return [[part.strip() for part in row] for row in csv.reader(text)]


def known() -> dict[str, tuple[str, bool]]:
    """Return field -> (kind, whether it is enabled) in the files of the exporter."""
    found: dict[str, tuple[str, bool]] = {}
    for path in sorted((REFERENCE / "charts" / "dcgm-exporter").glob("*.csv")):
        for line in path.read_text().splitlines():
            parts = [part.strip() for part in line.lstrip("# ").split(",")]
            if len(parts) >= 3 and parts[0].startswith("DCGM_"):
                on = not line.startswith("#") or found.get(parts[0], ("", False))[1]
                found[parts[0]] = (parts[1], on)
    return found


def test_every_line_has_a_field_a_kind_and_a_text() -> None:
    rows = lines()
    assert len(rows) == len(COUNTERS) == len(FIELDS)
    for row in rows:
        assert len(row) == 3, row
        assert row[1] in KINDS


@needs_reference
def test_every_field_is_one_that_the_exporter_knows() -> None:
    fields = known()
    assert not FIELDS - set(fields)
    for counter in COUNTERS:
        # The counts of a window go up and down: the exporter's README calls them gauges, its file says counter.
        expected = "gauge" if counter.field.startswith("DCGM_EXP_") else fields[counter.field][0]
        assert counter.kind == expected, counter.field


@needs_reference
def test_nothing_that_the_exporter_reports_by_itself_is_lost() -> None:
    assert not {field for field, (_, on) in known().items() if on} - FIELDS
