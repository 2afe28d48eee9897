"""Runs on a stack: the run in progress, and unfinished operations of earlier runs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mlcluster.deploy.session.stack import Stack, home_of
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.engine.engine import Engine
from mlcluster.engine.locks import Lock, is_alive
from mlcluster.engine.run_lock import RunHolder, run_in_progress
from mlcluster.lab.status import LabStatus


@dataclass(frozen=True, slots=True)
class RunState:
    """The runs in the report of `status`.

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


def run_state(workspace: Workspace, lab: LabStatus | None, stacks: Iterable[Stack]) -> RunState:
    """Looks at the run lock, the lab, and the locks and open operations of the stacks; changes nothing."""
    stacks = list(stacks)
    holder = run_in_progress(home_of(workspace))
    held = [lock for stack in stacks if (lock := stack.engine.lock()) is not None]
    working = next((lock for lock in held if is_alive(lock) is not False), None)
    run = _of_run(holder) if holder else _of_lock(working) if working else None
    starting = lab is not None and lab.state == "starting"
    reasons = [] if run else [f"{lock.owner} held the stack and is no longer running" for lock in held]
    reasons += [] if run else [f"{open_end.text} had not ended" for stack in stacks for open_end in _open(stack.engine)]
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
    """Return the engine of a killed run that still works, or of a run on another machine."""
    since = lock.started.isoformat(timespec="seconds") if lock.started else ""
    return {"command": "pulumi", "pid": lock.pid, "user": lock.user, "host": lock.host, "since": since}
