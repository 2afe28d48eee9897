"""The directories in which the engine finds provider plugins that are not part of mlcluster.

The engine reads the entries of `PULUMI_HOME/plugins`, and skips links to directories (pulumi v3.259.0,
sdk/go/common/workspace/plugins.go, `tryPlugin`). Therefore a stack's home has a real directory for each plugin, which
contains links to the files of the installed plugin.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from mlcluster.errors import MlclusterError

ATTACH_VARIABLE = "PULUMI_DEBUG_PROVIDERS"
"""Pulumi's variable for running providers, PACKAGE:PORT,PACKAGE:PORT: the only PULUMI_ variable other than credentials
that mlcluster reads from the caller."""

HOME_VARIABLE = "PULUMI_HOME"

_OFFICIAL = re.compile(r"resource-(aws|eks|kubernetes)-v\d+\.\d+\.\d+")


def attached() -> dict[str, int]:
    """Return the ports of the caller's attached providers by package; entries other than PACKAGE:PORT are ignored."""
    pairs = (entry.strip().partition(":") for entry in os.environ.get(ATTACH_VARIABLE, "").split(","))
    return {package: int(port) for package, _, port in pairs if package and port.isdigit()}


def user_home() -> Path:
    """Return the Pulumi home in which plugins are installed: `$PULUMI_HOME`, else `~/.pulumi`.

    All stacks of a user and the `pulumi` CLI share it, because a plugin takes a few hundred megabytes.
    """
    return Path(os.environ.get(HOME_VARIABLE) or Path.home() / ".pulumi")


def folder_name(name: str, version: str) -> str:
    """Return the name of a plugin's directory below `plugins`, for a version without "v"."""
    return f"resource-{name}-v{version}"


def is_installed(home: Path, name: str, version: str) -> bool:
    """Return whether a plugin is complete in `home`: its program exists and no installation is in progress.

    A plugin in a directory that this user cannot read counts as not installed.
    """
    folder = home / "plugins" / folder_name(name, version)
    program = folder / f"pulumi-resource-{name}"
    try:
        return not is_partial(folder) and program.is_file() and os.access(program, os.X_OK)
    except OSError:
        return False


def link_installed(plugin_home: Path, *, without: str = "") -> None:
    """Link the files of the installed aws, eks and kubernetes plugins into the home of a stack.

    A stack has its own home, so that logins and settings of the user have no effect. The engine looks only there,
    downloads nothing, and needs one exact version of each plugin. This function removes dangling links, and leaves
    directories with files and links of other tools unchanged.

    Args:
        plugin_home: PULUMI_HOME of the stack.
        without: name of a plugin's directory that is not linked.

    Raises:
        MlclusterError: a directory cannot be read or written.
    """
    installed, ours = user_home() / "plugins", plugin_home / "plugins"
    try:
        if ours.resolve() != installed.resolve():
            _link_all({folder.name: folder for folder in _complete(installed) if folder.name != without}, ours)
    except OSError as error:
        hint = "Make the directory readable and writable for your user."
        raise MlclusterError("linking the installed plugins", str(error), hint) from error


def _link_all(installed: dict[str, Path], ours: Path) -> None:
    if not installed and not ours.is_dir():
        return
    ours.mkdir(parents=True, exist_ok=True)
    for name in {*installed, *(entry.name for entry in ours.iterdir() if _OFFICIAL.fullmatch(entry.name))}:
        _link(installed.get(name), ours / name)


def _complete(installed: Path) -> Iterator[Path]:
    """Yield the directories of plugins whose installation is complete."""
    if installed.is_dir():
        for folder in installed.iterdir():
            if _OFFICIAL.fullmatch(folder.name) and folder.is_dir() and not is_partial(folder):
                yield folder


def is_partial(folder: Path) -> bool:
    """Return whether an installation of this plugin is in progress or was interrupted (Pulumi's `PartialFilePath`)."""
    return is_there(folder.with_name(f"{folder.name}.partial"))


def is_there(path: Path) -> bool:
    """Return whether a file or directory exists and this user can access it."""
    try:
        return path.exists()
    except OSError:
        return False


def _link(source: Path | None, folder: Path) -> None:
    """Make `folder` a directory of links to everything in `source`; if that is None, remove the links.

    Another run may change the same directory at the same time.
    """
    if folder.is_symlink():
        if folder.exists() and folder.readlink().parts[-2:] != ("plugins", folder.name):
            return
        with suppress(FileNotFoundError, IsADirectoryError, PermissionError):  # another run removed it first
            folder.unlink()
    entries = list(folder.iterdir()) if folder.is_dir() else []
    links = [entry for entry in entries if _is_managed_link(entry)]
    if len(links) < len(entries):
        return
    wanted = {entry.name: entry for entry in source.iterdir()} if source else {}
    for link in links:
        if link.readlink() != wanted.get(link.name):
            link.unlink(missing_ok=True)
    if not wanted:
        with suppress(FileNotFoundError):
            folder.rmdir()
        return
    folder.mkdir(exist_ok=True)
    for name, entry in wanted.items():
        with suppress(FileExistsError):
            (folder / name).symlink_to(entry)


def _is_managed_link(entry: Path) -> bool:
    return entry.is_symlink() and entry.readlink().parts[-3:-1] == ("plugins", entry.parent.name)
