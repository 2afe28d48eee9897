"""The status document as tables."""

import io
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

MARKS = {True: ("ready", "green"), False: ("not ready", "red")}
WIDE = 132


def status_text(document: dict[str, Any], *, color: bool) -> str:
    """Pools, components, teams, then everything that is not as planned."""
    text = io.StringIO()
    console = Console(file=text, force_terminal=color, no_color=not color, width=WIDE, highlight=False)
    console.print(Text.assemble("Cluster ", (document["cluster"], "bold"), f": {document['state']}"))
    if document["state"] == "absent":
        console.print(f"not running; {len(document['missing'])} things are planned: mlcluster up")
        return _trimmed(text)
    console.print(_pools(document["pools"]))
    console.print(_components(document["components"]))
    if document["teams"]:
        console.print(_teams(document["teams"]))
    for what, hint in (("missing", "planned, not made yet"), ("unplanned", "made, not planned any more")):
        if document[what]:
            console.print(Text(f"{hint}: {_some(document[what])}", "yellow"))
    for drift in document["drifted"]:
        paths = f" ({_some(drift['paths'])})" if drift["paths"] else ""
        console.print(Text(f"{drift['was']} by somebody else: {drift['id']}{paths}", "yellow"))
    return _trimmed(text)


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
        table.add_row(pool["name"], f"{pool['readyNodes']}/{pool['nodes']}", _mark(ready=pool["ready"]))
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
            _mark(ready=team["ready"]),
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
