"""Builds what is missing of the toolchain from pinned Go modules.

Finished programs stay when a build is interrupted, and so do Go's caches until everything is built; the next call
goes on from there.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from mlcluster.directories import cache_directory
from mlcluster.errors import MlclusterError
from mlcluster.lab.failures import interruptible
from mlcluster.lab.toolchain import go as go_finder
from mlcluster.lab.toolchain import gobuild, optional, pins
from mlcluster.lab.toolchain.find import (
    Program,
    Toolchain,
    chart_directory,
    directory,
    find,
    find_optional,
    find_tool,
)
from mlcluster.progress import Progress

KEEP_CACHES_VARIABLE = "MLCLUSTER_KEEP_BUILD_CACHES"
DISK_BYTES = 13_000_000_000
"""Room that a build of everything takes for a while: modules, Go's build cache, the programs."""

_SUBCHARTS = re.compile(r"^dependencies:\n(?:[ \-].*\n|\n)*", re.MULTILINE)

Usage = Callable[[Path], int]


def ensure(progress: Progress, *, keep_caches: bool = False) -> Toolchain:
    """The whole toolchain, built first when anything of it is missing.

    Args:
        progress: told what the build costs before it starts, then program by program.
        keep_caches: leave Go's module and build caches for the next build; so does $MLCLUSTER_KEEP_BUILD_CACHES.

    Raises:
        MlclusterError: no Go, no network, not enough disk, or a program that does not build.
    """
    found = find()
    if found is not None:
        return found
    _build_missing(lambda: _missing(pins.NAMES), progress, keep_caches=keep_caches, chart=True)
    found = find()
    if found is None:
        raise MlclusterError("building the toolchain", f"{directory()} is not complete", "try again")
    return found


def ensure_tool(name: str, progress: Progress, *, keep_caches: bool = False) -> Path:
    """The one program `name`, built when it is missing; for the rest see `ensure`."""
    found = find_tool(name)
    if found is not None:
        return found
    _build_missing(lambda: _missing((name,)), progress, keep_caches=keep_caches)
    return directory() / "bin" / name


def ensure_optional(names: Iterable[str], progress: Progress, *, keep_caches: bool = False) -> Mapping[str, Program]:
    """The optional programs `names` (of `optional.NAMES`) with their manifests; for the rest see `ensure`."""
    wanted = tuple(names)
    found = {name: program for name in wanted if (program := find_optional(name)) is not None}
    if len(found) == len(wanted):
        return found

    def missing() -> list[pins.Tool]:
        return [tool for tool in optional.OPTIONAL if tool.name in wanted and find_optional(tool.name) is None]

    _build_missing(missing, progress, keep_caches=keep_caches)
    return {name: _built(optional.tool(name)) for name in wanted}


def free_bytes(place: Path) -> int:
    """Free bytes where `place` is or will be."""
    while not place.exists():
        place = place.parent
    return shutil.disk_usage(place).free


def require_disk(place: Path, needed: int, free: Usage = free_bytes) -> None:
    """Refuse a build that would fill the disk.

    Raises:
        MlclusterError: with both figures.
    """
    there = free(place)
    if there < needed:
        raise MlclusterError(
            "building the toolchain",
            f"it needs {needed / 1e9:.0f} GB for a while, {place} has {there / 1e9:.1f} GB free",
            "make room, or set MLCLUSTER_CACHE_DIR to a directory on another disk",
        )


def work_directory() -> Path:
    """Where Go's caches are during a build."""
    return cache_directory() / "toolchain" / f"{pins.key()}.build"


def _missing(names: Sequence[str]) -> list[pins.Tool]:
    return [tool for tool in pins.TOOLS if tool.name in names and find_tool(tool.name) is None]


def _build_missing(
    ask: Callable[[], list[pins.Tool]], progress: Progress, *, keep_caches: bool, chart: bool = False
) -> None:
    """Builds what `ask` says when nobody else builds any more."""
    from filelock import FileLock, Timeout

    place = directory()
    place.mkdir(parents=True, exist_ok=True)
    lock = FileLock(place / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        progress.say("another command builds the toolchain: waiting for it")
        lock.acquire()
    try:
        missing = ask()
        if missing or chart:
            with interruptible("building the toolchain", "what is built so far stays", "the same command goes on"):
                _build(missing, progress, chart=chart and not _has_chart())
        if not (keep_caches or os.environ.get(KEEP_CACHES_VARIABLE)):
            shutil.rmtree(work_directory(), ignore_errors=True)
    finally:
        lock.release()


def _build(missing: Sequence[pins.Tool], progress: Progress, *, chart: bool) -> None:
    work = work_directory()
    if missing:
        _announce(missing, progress)
        require_disk(work, _needed(len(missing), work))
    work.mkdir(parents=True, exist_ok=True)
    module = work / "module"
    module.mkdir(exist_ok=True)
    for name in ("go.mod", "go.sum"):
        shutil.copyfile(pins.HERE / name, module / name)
    builder = gobuild.Builder(go_finder.program(work, progress), module, go_finder.environment(work))
    for number, tool in enumerate(missing, start=1):
        with progress.task(f"building {tool.name} {pins.pinned(tool)} ({number} of {len(missing)})") as task:
            if tool.manifests:  # first: a program that is there has its manifests
                _take_manifests(builder, tool)
            builder.build(tool, _built(tool).path, task)
    if chart:
        with progress.task("taking Kueue's chart from its module"):
            _take_chart(builder)


def _announce(missing: Sequence[pins.Tool], progress: Progress) -> None:
    gigabytes = _needed(len(missing), None) / 1e9
    few = all(tool in optional.OPTIONAL for tool in missing)
    time = "a few minutes on two cores" if few else "all of them take ten to twenty minutes on two cores"
    progress.say(
        f"building {', '.join(tool.name for tool in missing)} from source, once: about {gigabytes:.0f} GB of disk for"
        f" a while, at most 0.7 GB stay in {directory()}; {time}."
        " It may be interrupted and goes on where it was"
    )


def _needed(programs: int, work: Path | None) -> int:
    """Bytes: a few programs share little, so half of everything is assumed even for one."""
    whole = DISK_BYTES if programs > 2 else DISK_BYTES // 2
    return max(2_000_000_000, whole - (_size(work) if work is not None and work.exists() else 0))


def _size(directory: Path) -> int:
    answer = subprocess.run(
        ["du", "-s", "--block-size=1", str(directory)],  # noqa: S607 - wherever coreutils is
        capture_output=True,
        text=True,
        check=False,
    )
    first = answer.stdout.partition("\t")[0]
    return int(first) if first.isdigit() else 0


def _has_chart() -> bool:
    return (chart_directory() / "Chart.yaml").is_file()


def _built(tool: pins.Tool) -> Program:
    """Where a build puts the program."""
    if tool in optional.OPTIONAL:
        place = optional.place(tool, directory())
        return Program(place / tool.name, place / "manifests")
    return Program(directory() / "bin" / tool.name, chart_directory())


def _take_chart(builder: gobuild.Builder) -> None:
    module = next(tool.module for tool in pins.TOOLS if tool.name == "kueue")
    _copy(builder.module_directory(module) / "charts" / "kueue", chart_directory())


def _take_manifests(builder: gobuild.Builder, tool: pins.Tool) -> None:
    place = _built(tool).manifests
    _copy(builder.module_directory(tool.module) / tool.manifests, place)
    chart = place / "Chart.yaml"
    if chart.is_file():  # charts of others are not in the module, and helm renders nothing without them
        chart.write_text(_SUBCHARTS.sub("", chart.read_text()))


def _copy(source: Path, target: Path) -> None:
    """A whole copy or none; files of a module are read-only, those of the copy are not."""
    fresh = target.with_suffix(".new")
    shutil.rmtree(fresh, ignore_errors=True)
    shutil.copytree(source, fresh, copy_function=shutil.copyfile)
    shutil.rmtree(target, ignore_errors=True)
    fresh.rename(target)
