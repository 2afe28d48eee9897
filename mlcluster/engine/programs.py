"""The Pulumi programs of the packaged `stacks` directory."""

import importlib
import importlib.machinery
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from mlcluster.directories import packaged
from mlcluster.errors import ExitCode, MlclusterError


def load(name: str, directory: Path | None = None) -> ModuleType:
    """Return the module `stacks/NAME/program.py`, whose function `program` registers a plan.

    In a wheel, the directory is package data and not importable, so this function first adds it as the namespace
    package `stacks`. The module imports pulumi, which takes about 0.7 s: call this only before the engine runs.

    Raises:
        MlclusterError: this installation does not contain the program.
    """
    directory = directory or packaged("stacks")
    if not (directory / name / "program.py").is_file():
        happened = f"{directory} has no program {name}"
        raise MlclusterError("loading the Pulumi program", happened, "Install mlcluster again.", exit_code=ExitCode.BUG)
    _add_namespace_package(directory)
    return importlib.import_module(f"stacks.{name}.program")


def _add_namespace_package(directory: Path) -> None:
    known = sys.modules.get("stacks")
    if known is not None and str(directory) in getattr(known, "__path__", ()):
        return
    for module in [module for module in sys.modules if module == "stacks" or module.startswith("stacks.")]:
        del sys.modules[module]
    spec = importlib.machinery.ModuleSpec("stacks", None, is_package=True)
    spec.submodule_search_locations = [str(directory)]
    sys.modules["stacks"] = importlib.util.module_from_spec(spec)
