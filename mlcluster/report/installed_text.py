"""Installed components as a table and as data."""

from typing import Any

from rich.table import Table
from rich.text import Text

from mlcluster.report.tables import UNFOLDED, Page, table
from mlcluster.rules.installed import Discovery, Row
from mlcluster.rules.upgrades import Upgrade

_WORDS = {
    "managed": ("managed", "green"),
    "adopt": ("adopt: used as it is", "green"),
    "leave": ("leave alone", "dim"),
    "refuse": ("refuse", "red"),
    "install": ("install", "green"),
    "missing": ("missing", "red"),
}


def installed_text(already: Discovery, *, color: bool) -> str:
    """Return the table of existing installations with their owners, versions and decisions, then unreadable objects."""
    page = Page(color=color, width=UNFOLDED)
    version = f" (Kubernetes {already.seen.kubernetes})" if already.seen.kubernetes else ""
    page.print(Text(f"In the cluster already{version}", "bold"))
    page.print(_rows(already.rows) if already.rows else Text("nothing that mlcluster knows"))
    for what, why in already.seen.blind.items():
        page.print(Text(f"could not look at {what}: {why}", "yellow"))
    return page.text()


def _rows(rows: tuple[Row, ...]) -> Table:
    made = table("COMPONENT", "FOUND", "BY", "VERSION", "DECISION")
    for row in rows:
        word, style = _WORDS[row.decision]
        decision = Text(f"{word} ({row.note})" if row.note else word, style)
        made.add_row(row.name, Text(row.found or "-"), Text(row.by or "-"), Text(row.version or "-"), decision)
    return made


def installed_document(already: Discovery) -> dict[str, Any]:
    """Return `{kubernetes, notLookedAt: {kind: reason}, components: [...]}`."""
    return {
        "kubernetes": already.seen.kubernetes,
        "notLookedAt": dict(already.seen.blind),
        "components": [
            {
                "component": row.name,
                "title": row.title,
                "found": row.found or None,
                "by": row.by or None,
                "version": row.version or None,
                "decision": row.decision,
                "note": row.note,
            }
            for row in already.rows
        ],
    }


def upgrades_text(changing: tuple[Upgrade, ...]) -> str:
    """Return a line for each component whose version changes, with the risk and the manual steps."""
    lines = ["Versions that change"]
    for one in changing:
        lines.append(f"  {one.title} {one.running} -> {one.wanted}: {one.assessment.verdict}")
        lines += [f"    {text}" for text in one.assessment.why]
        lines += [f"    {number}. {text}" for number, text in enumerate(one.assessment.steps, 1)]
        lines += [f"    source: {text}" for text in one.assessment.sources]
    return "\n".join(lines) + "\n"


def upgrades_document(changing: tuple[Upgrade, ...]) -> list[dict[str, Any]]:
    """`[{release, title, from, to, class, why, steps, sources}]`."""
    return [
        {
            "release": one.release,
            "title": one.title,
            "from": one.running,
            "to": one.wanted,
            "class": one.assessment.verdict,
            "why": list(one.assessment.why),
            "steps": list(one.assessment.steps),
            "sources": list(one.assessment.sources),
        }
        for one in changing
    ]
