"""The status document as tables."""

import io
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mlcluster.report.numbers import counted

MARKS = {True: ("ready", "green"), False: ("not ready", "red")}
STATES = {"notReady": "not ready", "inProgress": "in progress"}
WIDE = 132


def status_text(document: dict[str, Any], *, color: bool, spec: str = "cluster.yaml") -> str:
    """Pools, components, teams, then everything that is not as planned.

    Args:
        document: what `status` found.
        color: whether to color it.
        spec: the spec file, for the command to run next.
    """
    text = io.StringIO()
    console = Console(file=text, force_terminal=color, no_color=not color, width=WIDE, highlight=False)
    state = document["state"]
    console.print(Text.assemble("Cluster ", (document["cluster"], "bold"), f": {STATES.get(state, state)}"))
    if document["run"]:
        console.print(Text(_run(document["run"])), soft_wrap=True)
    for reason in document["reasons"]:
        console.print(Text(reason, "yellow"), soft_wrap=True)
    for part, table in (("pools", _pools), ("components", _components), ("teams", _teams)):
        if document[part]:
            console.print(table(document[part]))
    if state == "absent":
        console.print(_absent(document, spec))
        return _trimmed(text)
    for what, hint in (("missing", "planned, not made yet"), ("unplanned", "made, not planned any more")):
        if document[what]:
            console.print(Text(f"{hint}: {_some(document[what])}", "yellow"))
    for drift in document["drifted"]:
        paths = f" ({_some(drift['paths'])})" if drift["paths"] else ""
        console.print(Text(f"{drift['was']} by another client: {drift['id']}{paths}", "yellow"))
    if state == "incomplete":
        console.print(Text(f"Run `mlcluster up {spec}`; it continues from what is there."))
    return _trimmed(text)


def _run(run: dict[str, Any]) -> str:
    since = f" since {run['since']}" if run["since"] else ""
    return f"`{run['command']}` is running: pid {run['pid']} of {run['user']}@{run['host']}{since}"


def _absent(document: dict[str, Any], spec: str) -> Text:
    missing = len(document["missing"])
    planned = f"; {counted(missing, 'resource is', 'resources are')} planned" if missing else ""
    return Text(f"not running{planned}. Run `mlcluster up {spec}`.")


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column)
    return table


def _mark(*, ready: bool) -> Text:
    return Text(*MARKS[ready])


def _pools(pools: list[dict[str, Any]]) -> Table:
    table = _table("POOL", "NODES", "STATE")
    for pool in pools:
        known = max(pool["nodes"], pool["plannedNodes"])
        table.add_row(pool["name"], f"{pool['readyNodes']}/{known}", _mark(ready=pool["ready"]))
    return table


def _components(components: list[dict[str, Any]]) -> Table:
    table = _table("COMPONENT", "VERSION", "STATE", "")
    for part in components:
        table.add_row(part["name"], part["version"], _mark(ready=part["ready"]), Text(part["detail"]))
    return table


def _teams(teams: list[dict[str, Any]]) -> Table:
    table = _table("TEAM", "OBJECTS", "STATE", "ADMITTED", "PENDING", "DRIFTED", "")
    for team in teams:
        table.add_row(
            team["name"],
            f"{team['there']}/{team['planned']}",
            Text("drifted", "yellow") if team["ready"] and team["drifted"] else _mark(ready=team["ready"]),
            str(team["admitted"]),
            str(team["pending"]),
            str(len(team["drifted"]) or ""),
            Text(team["detail"]),
        )
    return table


def _some(items: list[str]) -> str:
    return ", ".join(items[:8]) + (f" and {len(items) - 8} more" if len(items) > 8 else "")


def _trimmed(text: io.StringIO) -> str:
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"
