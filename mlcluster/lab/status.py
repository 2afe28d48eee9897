"""The status of a lab: its record, its processes, and their readiness probes."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mlcluster.lab import components, lock, process, record
from mlcluster.lab.components import Component
from mlcluster.lab.control_plane import server_of
from mlcluster.lab.layout import Layout
from mlcluster.lab.record import Record

State = Literal["absent", "starting", "running", "degraded", "crashed", "stopped"]


@dataclass(frozen=True)
class ProcessStatus:
    """The status of a component: `alive` from the kernel, `ready` from its probe, memory in MiB."""

    name: str
    pid: int | None
    alive: bool
    ready: bool
    memory_mib: int
    port: int | None
    log: Path
    answer: str
    """The response of the probe if it is not ready, else ""."""


@dataclass(frozen=True)
class LabStatus:
    """The status of a lab. `note` explains a state other than running and absent."""

    name: str
    state: State
    directory: Path
    note: str = ""
    server: str = ""
    kubeconfig: Path | None = None
    started_by: str = ""
    processes: tuple[ProcessStatus, ...] = ()

    @property
    def memory_mib(self) -> int:
        """The resident memory of all processes in MiB."""
        return sum(process.memory_mib for process in self.processes)


def read(name: str, layout: Layout) -> LabStatus:
    """Return the status of a lab without a change to it."""
    try:
        current = record.load(layout)
    except ValueError as error:
        return LabStatus(name, "crashed", layout.root, f"{error}; `mlcluster lab reset --name {name}` deletes it")
    if current is None:
        return _without_record(name, layout)
    wanted = components.everything(layout, current)
    found = tuple(_look(component, layout, current) for component in wanted)
    state, note = _judge(name, current, found, busy=lock.is_held(layout))
    if state in {"running", "degraded"} and (former := _started_differently(wanted, current)):
        again = f"`mlcluster lab start --name {name}` starts them again"
        state, note = "degraded", f"an older mlcluster started {', '.join(former)}; {again}"
    up = state in {"running", "degraded"}
    return LabStatus(
        name,
        state,
        layout.root,
        note,
        server_of(current.ports) if up else "",
        layout.kubeconfig("admin") if up else None,
        current.started_by,
        found,
    )


def has_data(layout: Layout) -> bool:
    """Return whether there is data of a control plane."""
    return layout.etcd.exists() or layout.pki.exists()


def _without_record(name: str, layout: Layout) -> LabStatus:
    if has_data(layout):
        note = f"data without a record; `mlcluster lab reset --name {name}` deletes it"
        return LabStatus(name, "crashed", layout.root, note)
    return LabStatus(name, "absent", layout.root)


def _look(component: Component, layout: Layout, current: Record) -> ProcessStatus:
    known = current.process(component.name)
    alive = known is not None and process.alive(known)
    answer = component.trouble() if alive else "not running"
    return ProcessStatus(
        component.name,
        known.pid if known is not None and alive else None,
        alive,
        alive and not answer,
        process.memory_mib(known) if known is not None and alive else 0,
        component.port,
        layout.log(component.name),
        answer,
    )


def _started_differently(wanted: Iterable[Component], current: Record) -> list[str]:
    """Return the components whose process has a different command line than a start would use now."""
    pairs = [(component, current.process(component.name)) for component in wanted]
    return [component.name for component, known in pairs if known is not None and known.argv != component.argv]


def _judge(name: str, current: Record, found: tuple[ProcessStatus, ...], *, busy: bool) -> tuple[State, str]:
    dead = [component.name for component in found if not component.alive]
    unready = [component.name for component in found if component.alive and not component.ready]
    repair = f"`mlcluster lab start --name {name}` repairs it"
    if current.phase == "starting" and busy:
        return "starting", f"waiting for {', '.join(dead + unready)}" if dead + unready else ""
    if current.phase == "starting":
        return "crashed", f"a start did not end; {repair}"
    if current.phase == "stopped":
        return "stopped", f"its data is kept; `mlcluster lab reset --name {name}` deletes it"
    if dead:
        return "crashed", f"not running: {', '.join(dead)}; {repair}"
    return ("degraded", f"not ready: {', '.join(unready)}") if unready else ("running", "")
