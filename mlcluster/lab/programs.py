"""The programs that a lab runs, and the order in which its controllers start."""

from dataclasses import replace

from mlcluster.lab import process
from mlcluster.lab.controllers.registry import CONTROLLERS
from mlcluster.lab.record import Record
from mlcluster.lab.toolchain import Program, Toolchain, ensure_optional
from mlcluster.progress import Progress


def with_programs(current: Record, toolchain: Toolchain, progress: Progress) -> Record:
    """Return the record with the programs of `toolchain`, unless a process runs and all its programs exist."""
    running = any(process.alive(known) for known in current.processes)
    programs = [*current.binaries.values(), *(known.program for known in current.controllers)]
    if running and all(path.exists() for path in programs):
        return current
    names = [known.name for known in current.controllers]
    fresh = dict(ensure_optional([name for name in names if name != "kueue"], progress))
    if "kueue" in names:
        fresh["kueue"] = Program(toolchain.path("kueue"), toolchain.chart)
    controllers = tuple(
        replace(known, program=fresh[known.name].path, manifests=fresh[known.name].manifests)
        for known in current.controllers
    )
    return replace(current, binaries=dict(toolchain.binaries), controllers=controllers)


def in_order(current: Record) -> Record:
    """Return the record with its controllers in start order."""
    order = list(CONTROLLERS)
    return replace(current, controllers=tuple(sorted(current.controllers, key=lambda known: order.index(known.name))))
