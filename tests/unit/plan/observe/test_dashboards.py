"""Dashboards: every query reads existing metrics, and the files are deterministic."""

import json
from collections.abc import Iterator

import pytest

from mlcluster.plan.model import Manifest
from mlcluster.plan.observe import metrics as known
from mlcluster.plan.observe.counters import FIELDS
from mlcluster.plan.observe.dashboards import as_data, dashboards
from tests.observed import records
from tests.promql import is_balanced, labels, metrics

ALL = dashboards(gpus=True)
EXIST = known.KUBE_STATE_METRICS | known.KUEUE | FIELDS | {rule["record"] for rule in records()}

pytestmark = pytest.mark.unit


def queries(dashboard: Manifest) -> Iterator[str]:
    for panel in dashboard["panels"]:
        yield from (target["expr"] for target in panel["targets"])


@pytest.mark.parametrize("name", ALL)
def test_every_query_reads_existing_metrics(name: str) -> None:
    found = list(queries(ALL[name]))
    assert len(found) >= 8
    for query in found:
        assert is_balanced(query), query
        assert metrics(query), query
        assert not metrics(query) - EXIST, query
        assert "hostname" not in {label.lower() for label in labels(query)}, query


@pytest.mark.parametrize("name", ALL)
def test_panels_are_numbered_and_do_not_overlap(name: str) -> None:
    panels = ALL[name]["panels"]
    assert [panel["id"] for panel in panels] == list(range(1, len(panels) + 1))
    taken = [
        (row, column)
        for panel in panels
        for row in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
        for column in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
    ]
    assert len(taken) == len(set(taken))
    assert max(column for _, column in taken) < 24


def test_identifiers_are_stable() -> None:
    assert {name: dashboard["uid"] for name, dashboard in ALL.items()} == {name: name for name in ALL}
    assert set(ALL) == {"mlcluster-cluster", "mlcluster-teams", "mlcluster-queues"}


def test_variables_are_used_and_defined() -> None:
    for name, dashboard in ALL.items():
        defined = {entry["name"] for entry in dashboard["templating"]["list"]}
        used = {word for query in queries(dashboard) for word in ("$team", "$queue") if word in query}
        assert {word[1:] for word in used} == defined - {"datasource"}, name


def test_the_files_are_json() -> None:
    for name, dashboard in ALL.items():
        (file, text), *rest = as_data(name, dashboard).items()
        assert not rest
        assert file == f"{name}.json"
        assert json.loads(text) == dashboard


def test_without_gpus_only_queues_are_left() -> None:
    assert set(dashboards(gpus=False)) == {"mlcluster-queues"}


@pytest.mark.parametrize("name", ["mlcluster-teams", "mlcluster-queues"])
def test_a_team_sees_the_use_of_its_quota(name: str) -> None:
    """In one table, with a row for each pool, resource and share."""
    (table,) = [panel for panel in ALL[name]["panels"] if panel["title"].endswith("of each team now")]
    (query,) = [target["expr"] for target in table["targets"]]
    for word in ("guaranteed", "used", "borrowed", "lent", "free"):
        assert f'"share", "{word}"' in query
    assert {"team", "pool", "resource"} <= labels(query)
