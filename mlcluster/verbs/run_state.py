"""Whether a run is in progress on a stack, and what an earlier one left unfinished."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mlcluster.engine.engine import Engine
from mlcluster.engine.locks import Lock, is_alive
from mlcluster.engine.run_lock import RunHolder, run_in_progress
from mlcluster.lab.status import LabStatus
from mlcluster.verbs.reading import Reading
from mlcluster.verbs.stage import Stage, home_of


@dataclass(frozen=True, slots=True)
class RunState:
    """What `status` tells of runs.

    Attributes:
        run: the run that holds the stack: `{command, pid, user, host, since}`; None for none that has a name.
        in_progress: a run holds the stack, or a command starts the lab.
        reasons: why the cluster is incomplete or not there yet, in sentences without a full stop.
        unfinished: an earlier run was interrupted, failed half-way or lost its processes.
    """

    run: Mapping[str, Any] | None
    in_progress: bool
    reasons: tuple[str, ...]
    unfinished: bool


NO_RUN = RunState(None, False, (), False)


def run_state(reading: Reading, lab: LabStatus | None, stages: Iterable[Stage]) -> RunState:
    """Looks at the run lock, the lab, and the locks and open operations of the stacks; changes nothing."""
    stages = list(stages)
    holder = run_in_progress(home_of(reading))
    held = [lock for stage in stages if (lock := stage.engine.lock()) is not None]
    working = next((lock for lock in held if is_alive(lock) is not False), None)
    run = _of_run(holder) if holder else _of_lock(working) if working else None
    starting = lab is not None and lab.state == "starting"
    reasons = [] if run else [f"{lock.owner} held the stack and is no longer running" for lock in held]
    reasons += [] if run else [f"{open_end.text} had not ended" for stage in stages for open_end in _open(stage.engine)]
    crashed = lab is not None and lab.state == "crashed" and not run
    found = [*reasons, *_of_lab(lab)]
    return RunState(run, run is not None or starting, tuple(found), bool(reasons) or crashed)


def _open(engine: Engine) -> Iterable[Any]:
    return engine.pending() if engine.exists() else ()


def _of_lab(lab: LabStatus | None) -> list[str]:
    if lab is None or lab.state in {"absent", "running"}:
        return []
    return [f"lab {lab.name} is {lab.state}" + (f": {lab.note}" if lab.note else "")]


def _of_run(holder: RunHolder) -> dict[str, Any]:
    return {
        "command": holder.command,
        "pid": holder.pid,
        "user": holder.user,
        "host": holder.host,
        "since": holder.since,
    }


def _of_lock(lock: Lock) -> dict[str, Any]:
    """The engine of a killed run that still works, or of a run on another machine."""
    since = lock.started.isoformat(timespec="seconds") if lock.started else ""
    return {"command": "pulumi", "pid": lock.pid, "user": lock.user, "host": lock.host, "since": since}
