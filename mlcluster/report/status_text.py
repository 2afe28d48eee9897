"""The status document as tables."""

from typing import Any

from rich.table import Table
from rich.text import Text

from mlcluster.report.numbers import counted
from mlcluster.report.tables import Page, table

MARKS = {True: ("ready", "green"), False: ("not ready", "red")}
STATES = {"notReady": "not ready", "inProgress": "in progress"}


def status_text(document: dict[str, Any], *, color: bool, spec: str = "cluster.yaml") -> str:
    """Pools, components, teams, then everything that is not as planned.

    Args:
        document: the result of `status`.
        color: whether to color it.
        spec: the spec file, for the command to run next.
    """
    page = Page(color=color)
    state = document["state"]
    page.print(Text.assemble("Cluster ", (document["cluster"], "bold"), f": {STATES.get(state, state)}"))
    if document["run"]:
        page.print(Text(_run(document["run"])), soft_wrap=True)
    for reason in document["reasons"]:
        page.print(Text(reason, "yellow"), soft_wrap=True)
    for part, rows in (("pools", _pools), ("components", _components), ("teams", _teams)):
        if document[part]:
            page.print(rows(document[part]))
    if state == "absent":
        page.print(_absent(document, spec))
        return page.text()
    for what, hint in (("missing", "planned, not made yet"), ("unplanned", "made, not planned any more")):
        if document[what]:
            page.print(Text(f"{hint}: {_some(document[what])}", "yellow"))
    for drift in document["drifted"]:
        paths = f" ({_some(drift['paths'])})" if drift["paths"] else ""
        page.print(Text(f"{drift['was']} by another client: {drift['id']}{paths}", "yellow"))
    if state == "incomplete":
        page.print(Text(f"Run `mlcluster up {spec}`; it continues from what is there."))
    return page.text()


def _run(run: dict[str, Any]) -> str:
    since = f" since {run['since']}" if run["since"] else ""
    return f"`{run['command']}` is running: pid {run['pid']} of {run['user']}@{run['host']}{since}"


def _absent(document: dict[str, Any], spec: str) -> Text:
    missing = len(document["missing"])
    planned = f"; {counted(missing, 'resource is', 'resources are')} planned" if missing else ""
    return Text(f"not running{planned}. Run `mlcluster up {spec}`.")


def _mark(*, ready: bool) -> Text:
    return Text(*MARKS[ready])


def _pools(pools: list[dict[str, Any]]) -> Table:
    made = table("POOL", "NODES", "STATE")
    for pool in pools:
        known = max(pool["nodes"], pool["plannedNodes"])
        made.add_row(pool["name"], f"{pool['readyNodes']}/{known}", _mark(ready=pool["ready"]))
    return made


def _components(components: list[dict[str, Any]]) -> Table:
    made = table("COMPONENT", "VERSION", "STATE", "")
    for part in components:
        made.add_row(part["name"], part["version"], _mark(ready=part["ready"]), Text(part["detail"]))
    return made


def _teams(teams: list[dict[str, Any]]) -> Table:
    made = table("TEAM", "OBJECTS", "STATE", "ADMITTED", "PENDING", "DRIFTED", "")
    for team in teams:
        made.add_row(
            team["name"],
            f"{team['there']}/{team['planned']}",
            Text("drifted", "yellow") if team["ready"] and team["drifted"] else _mark(ready=team["ready"]),
            str(team["admitted"]),
            str(team["pending"]),
            str(len(team["drifted"]) or ""),
            Text(team["detail"]),
        )
    return made


def _some(items: list[str]) -> str:
    return ", ".join(items[:8]) + (f" and {len(items) - 8} more" if len(items) > 8 else "")
