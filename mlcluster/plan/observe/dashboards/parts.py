"""Grafana's JSON, from few words: panels in rows, and a dashboard of them (schema version 39, Grafana 10 and later)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from mlcluster.plan.model import Manifest

SOURCE = {"type": "prometheus", "uid": "${datasource}"}
COLUMNS = 24
HEIGHT = 8
SCHEMA = 39


@dataclass(frozen=True, slots=True)
class Query:
    """One query and how its series are called, e.g. "{{team}}"."""

    expr: str
    legend: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture.

    Attributes:
        unit: as Grafana calls it: percentunit, currencyUSD, s, watt, celsius, short.
        stacked: of a timeseries: areas on top of each other.
        width: of 24 columns.
    """

    title: str
    kind: Literal["timeseries", "stat", "table"]
    queries: tuple[Query, ...]
    unit: str = "short"
    stacked: bool = False
    width: int = 12
    description: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """A variable of a dashboard: the user chooses values of a label."""

    name: str
    label: str
    metric: str


def dashboard(uid: str, title: str, panels: Iterable[Panel], choices: Iterable[Choice] = ()) -> Manifest:
    """Return a dashboard; panels are placed from left to right and numbered in this order."""
    return {
        "uid": uid,
        "title": title,
        "tags": ["mlcluster"],
        "schemaVersion": SCHEMA,
        "version": 1,
        "editable": False,
        "timezone": "browser",
        "refresh": "1m",
        "time": {"from": "now-24h", "to": "now"},
        "templating": {"list": [_source(), *(_choice(choice) for choice in choices)]},
        "panels": _placed(panels),
    }


def _placed(panels: Iterable[Panel]) -> list[Manifest]:
    made: list[Manifest] = []
    left, top = 0, 0
    for number, panel in enumerate(panels, start=1):
        if left + panel.width > COLUMNS:
            left, top = 0, top + HEIGHT
        made.append(_panel(panel, number, {"x": left, "y": top, "w": panel.width, "h": HEIGHT}))
        left += panel.width
    return made


def _panel(panel: Panel, number: int, place: Manifest) -> Manifest:
    custom = {"stacking": {"mode": "normal"}, "fillOpacity": 30} if panel.stacked else {}
    defaults = {"unit": panel.unit, **({"custom": custom} if custom else {})}
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        **({"description": panel.description} if panel.description else {}),
        "datasource": SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": {},
        "targets": [_target(query, index, panel.kind) for index, query in enumerate(panel.queries)],
    }


def _target(query: Query, index: int, kind: str) -> Manifest:
    now = {"instant": True, "range": False} if kind != "timeseries" else {"instant": False, "range": True}
    shape = {"format": "table"} if kind == "table" else {}
    name = {"legendFormat": query.legend} if query.legend else {}
    return {"refId": chr(ord("A") + index), "datasource": SOURCE, "expr": query.expr, **name, **now, **shape}


def _source() -> Manifest:
    return {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus", "hide": 0}


def _choice(choice: Choice) -> Manifest:
    return {
        "name": choice.name,
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": f"label_values({choice.metric}, {choice.label})", "refId": choice.name},
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
        "sort": 1,
    }
