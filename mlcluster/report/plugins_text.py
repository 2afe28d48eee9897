"""Provider plugins of the engine as a table and as data."""

import io
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mlcluster.engine.plugin_pins import Presence

WIDEST = 2000
"""Columns: no cell is broken, people copy paths out of them."""


def plugins_text(found: Sequence[Presence], *, color: bool) -> str:
    """Return a row for each plugin; the last line says what to run when one is missing."""
    if not found:
        return "no plugin is needed: the Kubernetes provider is built in\n"
    text = io.StringIO()
    console = Console(file=text, force_terminal=color, no_color=not color, width=WIDEST, highlight=False, markup=False)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in ("PLUGIN", "VERSION", "NEEDED BY", "STATE", "WHERE"):
        table.add_column(column)
    for one in found:
        state = Text(one.state.value, "green" if one.usable else "red")
        table.add_row(one.pin.name, one.pin.version, ", ".join(one.pin.needed_by), state, Text(one.where))
    console.print(table)
    lines = [line.rstrip() for line in text.getvalue().splitlines()]
    missing = sum(not one.usable for one in found)
    closing = f"{missing} of {len(found)} missing: run `mlcluster plugins install`" if missing else "all there"
    return "\n".join([*lines, closing]) + "\n"


def plugins_document(found: Sequence[Presence], home: str) -> dict[str, Any]:
    """Return `{apiVersion, kind: PluginList, home, plugins: [{name, version, neededBy, state, usable, where}]}`."""
    return {
        "apiVersion": "mlcluster/v1alpha1",
        "kind": "PluginList",
        "home": home,
        "plugins": [
            {
                "name": one.pin.name,
                "version": one.pin.version,
                "neededBy": list(one.pin.needed_by),
                "state": one.state.value,
                "usable": one.usable,
                "where": one.where,
            }
            for one in found
        ],
    }
