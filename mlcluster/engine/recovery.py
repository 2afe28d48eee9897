"""Recovery from a killed run: its lock, and its pending operations.

The order matters: the owner must be provably dead, then its lock is removed, then every pending creation is looked up
on the server. An object with the cluster's label is added to the state, so that `up` continues it and `destroy` deletes
it; missing and unmanaged objects are removed from the state.
"""

import os
import signal
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from mlcluster.engine import locks
from mlcluster.engine.events import plan_id
from mlcluster.engine.failures import lock_conflict
from mlcluster.engine.home import StackHome
from mlcluster.engine.locks import Lock
from mlcluster.engine.repair import repair_files
from mlcluster.engine.state import Pending
from mlcluster.plan import names
from mlcluster.waiting import wait_while

ORPHAN_SECONDS = 30.0
"""An engine whose mlcluster was killed is interrupted; after this long its process group is killed."""

_KILL_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Recovered:
    """The result of a recovery.

    Attributes:
        owners: the dead owners, as text.
        pending: the pending operations, such as "creating Namespace/research".
    """

    owners: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.owners or self.pending)

    def __str__(self) -> str:
        told = [f"removed the lock of {owner}" for owner in self.owners]
        if self.pending:
            told.append(f"looked after {', '.join(self.pending)}")
        return "; ".join(told) or "nothing held the stack and nothing was open"


class Recoverable(Protocol):
    """The interface of the engine that recovery uses."""

    @property
    def home(self) -> StackHome: ...
    @property
    def project(self) -> str: ...
    def say(self, text: str, /) -> object: ...
    def pending(self) -> list[Pending]: ...
    def cancel(self) -> None: ...
    def take_over(self) -> None: ...


def recover_if_owner_dead(engine: Recoverable) -> Recovered:
    """Remove lock and pending operations of a killed run before `up` and `destroy`, if its process ended on this host.

    Raises:
        MlclusterError: an owner is alive, or ran on another host.
    """
    held = _end_orphans(engine.home, engine.project, engine.say)
    if any(locks.is_alive(lock) is not False for lock in held):
        raise lock_conflict(f"opening the stack {engine.home.name}", engine.home.spec, held)
    return _clear(engine, held)


def unlock(engine: Recoverable, *, assume_dead: bool) -> Recovered:
    """Remove locks and pending operations for `mlcluster unlock`, also of owners on other hosts with `assume_dead`.

    Raises:
        MlclusterError: an owner is alive, or is on another host without `assume_dead`.
    """
    held = _end_orphans(engine.home, engine.project, engine.say)
    states = [locks.is_alive(lock) for lock in held]
    if True in states or (None in states and not assume_dead):
        raise lock_conflict(f"unlocking the stack {engine.home.name}", engine.home.spec, held)
    if engine.home.state_files is None and assume_dead:
        engine.cancel()
    return _clear(engine, held)


def repair_unless_locked(engine: Recoverable) -> None:
    """Repair files that a killed run wrote partially, unless another run may be writing them now."""
    held = locks.read_locks(engine.home, engine.project)
    if all(locks.is_alive(lock) is False for lock in held):
        _repair(engine, killed=bool(held))


def _repair(engine: Recoverable, *, killed: bool) -> None:
    for mended in repair_files(engine.home, engine.project, killed=killed):
        engine.say(f"A killed run left a partially written state: {mended}.")


def _clear(engine: Recoverable, held: Sequence[Lock]) -> Recovered:
    locks.remove_locks(held)
    for lock in held:
        engine.say(f"Removed the lock of {lock.owner}, which is no longer running.")
    _repair(engine, killed=bool(held))
    pending = engine.pending()
    if pending:
        engine.say(
            f"A killed run left pending operations: {', '.join(item.text for item in pending)}. Checking the server."
        )
        engine.take_over()
        _say_what_was_not_looked_up(engine, pending)
    return Recovered(tuple(lock.owner for lock in held), tuple(item.text for item in pending))


def _say_what_was_not_looked_up(engine: Recoverable, pending: Iterable[Pending]) -> None:
    """Report the creations whose ID is not predictable: AWS may have completed them, and `up` repeats them."""
    nameless = [item for item in pending if item.operation == "creating" and not item.id]
    if nameless:
        engine.say(
            f"mlcluster cannot look up {', '.join(plan_id(item.urn) for item in nameless)}: only AWS knows the ID. "
            "If AWS created it before the kill, `up` fails because it exists, or creates a second one. In both cases "
            f"delete the first one. `down` ends with a list of leftover resources with the tag {names.CLUSTER}."
        )


def end_killed_runs(home: StackHome, project: str, say: Callable[[str], object]) -> None:
    """End the engines of killed runs before the state of a stack is removed, because they would write it again.

    Raises:
        MlclusterError: an owner is alive, or ran on another host.
    """
    held = _end_orphans(home, project, say)
    if any(locks.is_alive(lock) is not False for lock in held):
        raise lock_conflict(f"forgetting the stack {home.name}", home.spec, held)


def _end_orphans(home: StackHome, project: str, say: Callable[[str], object]) -> list[Lock]:
    """End the engines of killed runs, and return the locks that remain."""
    pids = _orphans(home, project)
    if pids:
        say("Waiting for the engine of a killed run to end.")
        _signal(pids, signal.SIGINT)  # it ends the operations that run and writes its state
        if left := wait_while(lambda: _orphans(home, project), ORPHAN_SECONDS):
            say(f"It did not end within {ORPHAN_SECONDS:.0f} s: killing it.")
            _signal(left, signal.SIGKILL)
            wait_while(lambda: _orphans(home, project), _KILL_SECONDS)
    return locks.read_locks(home, project)


def _orphans(home: StackHome, project: str) -> set[int]:
    held = locks.read_locks(home, project)
    return {lock.pid for lock in held if locks.is_orphan(lock)}.union(locks.orphaned_engines(home))


def _signal(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            if number is signal.SIGKILL and os.getpgid(pid) == pid:
                os.killpg(pid, number)  # its plugins too
            else:
                os.kill(pid, number)
