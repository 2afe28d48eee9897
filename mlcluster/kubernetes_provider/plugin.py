"""Installation of the provider in the plugin directory of the Pulumi engine."""

import os
import sys
from contextlib import suppress
from pathlib import Path

VERSION = "4.34.2"  # version of the SDK pulumi-kubernetes in the programs; the engine needs exactly this plugin version

FOLDER = f"resource-kubernetes-v{VERSION}"
_EXECUTABLE = "pulumi-resource-kubernetes"
_MODULE = b"-m mlcluster.kubernetes_provider"
_LONGEST = 10_000  # bytes; the official plugin has a hundred megabytes and is not read


def install(pulumi_home: Path) -> None:
    """Write the launcher into `PULUMI_HOME/plugins`. Repeated and simultaneous calls are safe.

    The launcher is a shell script because the first line of a Python script cannot contain a path with a space.
    `-P` prevents the import of a directory `mlcluster` in the engine's working directory.
    A link to the official plugin at its path is replaced, never followed.
    """
    import shlex  # here: every start of the provider imports this module, and none calls this function
    import tempfile

    folder = pulumi_home / "plugins" / FOLDER
    if folder.is_symlink():
        with suppress(FileNotFoundError, IsADirectoryError, PermissionError):  # another run removed it first
            folder.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / _EXECUTABLE
    script = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m mlcluster.kubernetes_provider "$@"\n'.encode()
    if not target.is_symlink() and target.exists() and target.read_bytes() == script and os.access(target, os.X_OK):
        return
    descriptor, name = tempfile.mkstemp(dir=folder, prefix=".launcher-")
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(script)
    Path(name).chmod(0o755)
    Path(name).replace(target)


def uninstall(pulumi_home: Path) -> None:
    """Remove the launcher, so that the official plugin can take its place; any other file stays."""
    folder = pulumi_home / "plugins" / FOLDER
    target = folder / _EXECUTABLE
    if folder.is_symlink() or target.is_symlink() or not target.is_file() or target.stat().st_size > _LONGEST:
        return
    if _MODULE not in target.read_bytes():
        return
    target.unlink(missing_ok=True)
    with suppress(OSError):  # the directory can contain files that `install` did not create
        folder.rmdir()
