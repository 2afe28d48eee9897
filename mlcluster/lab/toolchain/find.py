"""Find the programs of the toolchain: on PATH if the version fits, else in the cache of builds."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mlcluster.directories import CACHE_VARIABLE, cache_directory
from mlcluster.lab.toolchain import fit, optional, pins
from mlcluster.trust import is_open_to_all, require_trusted


@dataclass(frozen=True)
class Toolchain:
    """Ready programs by name, and the chart of the Kueue among them."""

    binaries: Mapping[str, Path]
    chart: Path

    def path(self, name: str) -> Path:
        """The program `name`, one of `pins.NAMES`."""
        return self.binaries[name]


@dataclass(frozen=True)
class Program:
    """A program that is built only when asked for, and the manifests of its module; promtool has none."""

    path: Path
    manifests: Path


def directory() -> Path:
    """Return the cache directory of the current pins; it exists after the first build.

    Raises:
        MlclusterError: another user can change what is there, and what is there is run.
    """
    place = cache_directory() / "toolchain" / pins.key()
    return require_trusted(place, "looking for the lab's programs", CACHE_VARIABLE)


def on_path(tool: pins.Tool, which: Callable[[str], str | None] = shutil.which) -> Path | None:
    """The program of `tool` on PATH when it runs and its version fits, else None.

    A program that each user of this machine can replace is left alone.
    """
    found = which(tool.name)
    if found is None or is_open_to_all(Path(found)):
        return None
    version = fit.version_of(tool.name, Path(found))
    return Path(found) if version is not None and fit.fits(tool.name, version, pins.pinned(tool)) else None


def find_tool(name: str) -> Path | None:
    """The program `name` from PATH or the cache, or None when a build is needed first."""
    tool = next(tool for tool in pins.TOOLS if tool.name == name)
    built = directory() / "bin" / name
    return on_path(tool) or (built if built.is_file() else None)


def find_optional(name: str) -> Program | None:
    """The optional program `name` from the cache, or None when a build is needed first.

    One on PATH is not taken: its manifests would be missing, and of what we changed of its source nobody knows.
    """
    place = optional.place(optional.tool(name), directory())
    return Program(place / name, place / "manifests") if (place / name).is_file() else None


def chart_directory() -> Path:
    """The copy of Kueue's chart beside our builds."""
    return directory() / "chart"


def find() -> Toolchain | None:
    """The whole toolchain, or None when anything of it has to be built; starts no build."""
    chart = chart_directory()
    found = {name: path for name in pins.NAMES if (path := find_tool(name)) is not None}
    if len(found) < len(pins.NAMES) or not (chart / "Chart.yaml").is_file():
        return None
    return Toolchain(found, chart)
