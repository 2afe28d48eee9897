"""Puts the provider where the Pulumi engine looks for plugins."""

import os
import shlex
import sys
import tempfile
from pathlib import Path

VERSION = "4.34.2"  # of the SDK pulumi-kubernetes that programs use; the engine asks for exactly this plugin

_FOLDER = f"resource-kubernetes-v{VERSION}"
_EXECUTABLE = "pulumi-resource-kubernetes"


def install(pulumi_home: Path) -> None:
    """Write the launcher into `PULUMI_HOME/plugins`; safe to repeat and to race.

    The launcher is a shell script because the first line of a Python script cannot hold a path with a space.
    `-P` keeps a folder `mlcluster` in the engine's working directory from being imported instead of us.
    """
    folder = pulumi_home / "plugins" / _FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / _EXECUTABLE
    script = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m mlcluster.kubernetes_provider "$@"\n'
    if target.exists() and target.read_text(encoding="utf-8") == script and os.access(target, os.X_OK):
        return
    descriptor, name = tempfile.mkstemp(dir=folder, prefix=".launcher-")
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(script)
    Path(name).chmod(0o755)
    Path(name).replace(target)
