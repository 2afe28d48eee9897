"""Where the engine finds provider plugins that mlcluster does not bring along."""

import os
import re
from contextlib import suppress
from pathlib import Path

ATTACH_VARIABLE = "PULUMI_DEBUG_PROVIDERS"
"""Pulumi's own: providers that run already, as PACKAGE:PORT,PACKAGE:PORT. The only PULUMI_ variable beside credentials
that we take over from the caller."""

_OFFICIAL = re.compile(r"resource-(aws|eks|kubernetes)-v\d+\.\d+\.\d+")


def attached() -> dict[str, int]:
    """The ports of providers that the caller wants attached, by package; what is not PACKAGE:PORT is left out."""
    pairs = (entry.strip().partition(":") for entry in os.environ.get(ATTACH_VARIABLE, "").split(","))
    return {package: int(port) for package, _, port in pairs if package and port.isdigit()}


def link_installed(plugin_home: Path) -> None:
    """Links the official plugins that `pulumi plugin install` put into the user's Pulumi home into a stack's.

    A stack has a home of its own, so that nobody's login or settings matter; the engine looks nowhere else, downloads
    nothing, and asks for one exact version of each.
    """
    installed = Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi") / "plugins"
    if not installed.is_dir():
        return
    ours = plugin_home / "plugins"
    ours.mkdir(parents=True, exist_ok=True)
    for folder in installed.iterdir():
        if not _OFFICIAL.fullmatch(folder.name) or folder.with_name(f"{folder.name}.partial").exists():
            continue
        link = ours / folder.name
        if link.is_symlink() and not link.exists():
            link.unlink(missing_ok=True)
        with suppress(FileExistsError):  # another run was quicker, or it was put there by hand
            link.symlink_to(folder, target_is_directory=True)
