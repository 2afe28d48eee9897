"""Provider plugins of the engine as a table and as data."""

import shlex
from collections.abc import Sequence
from typing import Any

from rich.text import Text

from mlcluster.engine.plugin_pins import Presence
from mlcluster.report.tables import UNFOLDED, Page, table

_OPTIONAL = (
    "is optional: only for `kubernetesProvider: official`; "
    "`mlcluster plugins install FILE` installs it for a spec with this setting"
)


def plugins_text(found: Sequence[Presence], spec: str = "", *, color: bool) -> str:
    """Return a row for each plugin; the lines below name the command that installs the missing ones.

    Args:
        found: the plugins.
        spec: path of the spec that needs them, as the user wrote it; "" without one.
        color: whether the terminal takes colors.
    """
    if not found:
        return "no plugin is needed: the Kubernetes provider is built in\n"
    page = Page(color=color, width=UNFOLDED)
    rows = table("PLUGIN", "VERSION", "NEEDED BY", "STATE", "WHERE")
    for one in found:
        state = Text(one.state.value, "green" if one.usable else "dim" if one.pin.optional else "red")
        rows.add_row(one.pin.name, one.pin.version, ", ".join(one.pin.needed_by), state, Text(one.where))
    page.print(rows)
    return page.text() + "\n".join(_closing(found, spec)) + "\n"


def _closing(found: Sequence[Presence], spec: str) -> list[str]:
    needed = [one for one in found if not one.pin.optional]
    missing = sum(not one.usable for one in needed)
    command = " ".join(["mlcluster plugins install", *([shlex.quote(spec)] if spec else [])])
    lines = [f"{missing} of {len(needed)} missing: run `{command}`" if missing else "no plugin is missing"]
    optional = (one.pin.title for one in found if one.pin.optional and not one.usable)
    return lines + [f"{title} {_OPTIONAL}" for title in optional]


def plugins_document(found: Sequence[Presence], home: str) -> dict[str, Any]:
    """Return `{apiVersion, kind: PluginList, home, plugins: [{name, version, neededBy, optional, state, ...}]}`."""
    return {
        "apiVersion": "mlcluster/v1alpha1",
        "kind": "PluginList",
        "home": home,
        "plugins": [
            {
                "name": one.pin.name,
                "version": one.pin.version,
                "neededBy": list(one.pin.needed_by),
                "optional": one.pin.optional,
                "state": one.state.value,
                "usable": one.usable,
                "where": one.where,
            }
            for one in found
        ],
    }
