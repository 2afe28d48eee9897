"""Directories in which the engine finds provider plugins that are not part of mlcluster.

The engine looks at the entries of `PULUMI_HOME/plugins` and takes only real directories; a link to a directory is
skipped (pulumi v3.259.0, sdk/go/common/workspace/plugins.go, `tryPlugin`). So a stack's home gets a real directory for
each plugin, with links to the files of the installed plugin in it.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from mlcluster.errors import MlclusterError

ATTACH_VARIABLE = "PULUMI_DEBUG_PROVIDERS"
"""Pulumi's own: providers that run already, as PACKAGE:PORT,PACKAGE:PORT. The only PULUMI_ variable beside credentials
that we take over from the caller."""

HOME_VARIABLE = "PULUMI_HOME"

_OFFICIAL = re.compile(r"resource-(aws|eks|kubernetes)-v\d+\.\d+\.\d+")


def attached() -> dict[str, int]:
    """The ports of providers that the caller wants attached, by package; what is not PACKAGE:PORT is left out."""
    pairs = (entry.strip().partition(":") for entry in os.environ.get(ATTACH_VARIABLE, "").split(","))
    return {package: int(port) for package, _, port in pairs if package and port.isdigit()}


def user_home() -> Path:
    """Return the Pulumi home in which plugins are installed: `$PULUMI_HOME`, else `~/.pulumi`.

    All stacks of a user share it, and so does the `pulumi` CLI: a plugin of a few hundred megabytes is there once.
    """
    return Path(os.environ.get(HOME_VARIABLE) or Path.home() / ".pulumi")


def folder_name(name: str, version: str) -> str:
    """Return the name of a plugin's directory below `plugins`, for a version without "v"."""
    return f"resource-{name}-v{version}"


def is_installed(home: Path, name: str, version: str) -> bool:
    """Return whether a plugin is complete in `home`: its program is there and no installation is under way.

    One in a directory that this user may not enter is not installed.
    """
    folder = home / "plugins" / folder_name(name, version)
    program = folder / f"pulumi-resource-{name}"
    try:
        return not is_partial(folder) and program.is_file() and os.access(program, os.X_OK)
    except OSError:
        return False


def link_installed(plugin_home: Path, *, without: str = "") -> None:
    """Link the files of the installed aws, eks and kubernetes plugins into the home of a stack.

    A stack has a home of its own, so that logins and settings of the user do not matter; the engine looks nowhere
    else, downloads nothing, and asks for one exact version of each. Links that lead nowhere any more are removed.
    A directory with files, or a link that mlcluster did not make, stays as it is.

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
        hint = "Make the directory readable and writable for you."
        raise MlclusterError("linking the installed plugins", str(error), hint) from error


def _link_all(installed: dict[str, Path], ours: Path) -> None:
    if not installed and not ours.is_dir():
        return
    ours.mkdir(parents=True, exist_ok=True)
    for name in {*installed, *(entry.name for entry in ours.iterdir() if _OFFICIAL.fullmatch(entry.name))}:
        _link(installed.get(name), ours / name)


def _complete(installed: Path) -> Iterator[Path]:
    """The directories of plugins whose installation has ended."""
    if installed.is_dir():
        for folder in installed.iterdir():
            if _OFFICIAL.fullmatch(folder.name) and folder.is_dir() and not is_partial(folder):
                yield folder


def is_partial(folder: Path) -> bool:
    """Return whether the engine installs this plugin now, or was stopped while it did (its `PartialFilePath`)."""
    return is_there(folder.with_name(f"{folder.name}.partial"))


def is_there(path: Path) -> bool:
    """Return whether a file or directory exists and this user may look at it."""
    try:
        return path.exists()
    except OSError:
        return False


def _link(source: Path | None, folder: Path) -> None:
    """Make `folder` a directory of links to everything in `source`; None: remove the links.

    Another run may do the same at the same time.
    """
    if folder.is_symlink():
        if folder.exists() and folder.readlink().parts[-2:] != ("plugins", folder.name):
            return
        with suppress(FileNotFoundError, IsADirectoryError, PermissionError):  # another run was quicker
            folder.unlink()
    entries = list(folder.iterdir()) if folder.is_dir() else []
    links = [entry for entry in entries if _is_link_of_ours(entry)]
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


def _is_link_of_ours(entry: Path) -> bool:
    return entry.is_symlink() and entry.readlink().parts[-3:-1] == ("plugins", entry.parent.name)
