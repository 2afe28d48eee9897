"""What to do about a lock and open operations that a killed run left behind.

The order matters: the owner must be provably dead, then the open operations are listed while the state still has them,
then the lock goes, then the state lets go of creations that never ended. The next `up` takes what was created over,
because the provider adopts objects that carry our label.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mlcluster.engine import locks
from mlcluster.engine.events import plan_id
from mlcluster.engine.failures import lock_conflict
from mlcluster.engine.home import StackHome
from mlcluster.engine.locks import Lock


@dataclass(frozen=True, slots=True)
class Recovered:
    """What was cleared.

    Attributes:
        owners: the dead holders, in words.
        pending: operations that were open: "creating Namespace/research".
    """

    owners: tuple[str, ...]
    pending: tuple[str, ...]


class Recoverable(Protocol):
    """The part of the engine that recovery needs."""

    @property
    def home(self) -> StackHome: ...
    @property
    def project(self) -> str: ...
    def say(self, text: str, /) -> object: ...
    def pending(self) -> list[str]: ...
    def cancel(self) -> None: ...
    def clear_pending_creates(self) -> None: ...


def pending_in(deployment: Mapping[str, Any]) -> list[str]:
    """The open operations of an exported state, in words."""
    found = deployment.get("pending_operations") or []
    return sorted(f"{item['type']} {plan_id(item['resource']['urn'])}" for item in found)


def recover_if_owner_dead(engine: Recoverable) -> Recovered | None:
    """Before `up` and `destroy`: clears what a killed run left, if its process provably ended on this host.

    Returns None when nothing holds the stack.

    Raises:
        MlclusterError: a holder is alive, or ran on another host.
    """
    held = locks.read_locks(engine.home, engine.project)
    if not held:
        return None
    if any(locks.is_alive(lock) is not False for lock in held):
        raise lock_conflict(f"opening the stack {engine.home.name}", engine.home.name, held)
    return _clear(engine, held)


def unlock(engine: Recoverable, *, assume_dead: bool) -> Recovered:
    """For `mlcluster unlock`: the same, and holders on other hosts when the user vouches for them.

    Raises:
        MlclusterError: a holder is alive, or on another host and nobody vouches.
    """
    held = locks.read_locks(engine.home, engine.project)
    states = [locks.is_alive(lock) for lock in held]
    if True in states or (None in states and not assume_dead):
        raise lock_conflict(f"unlocking the stack {engine.home.name}", engine.home.name, held)
    return _clear(engine, held)


def _clear(engine: Recoverable, held: Sequence[Lock]) -> Recovered:
    pending = engine.pending()
    if engine.home.state_files is None:
        engine.cancel()
    else:
        locks.remove_locks(held)
    owners = tuple(lock.owner for lock in held)
    for owner in owners:
        engine.say(f"Removed the lock of {owner}, which is no longer running.")
    if any(operation.startswith("creating") for operation in pending):
        engine.clear_pending_creates()
    if pending:
        engine.say(f"Its open operations are taken up again: {', '.join(pending)}.")
    return Recovered(owners, tuple(pending))
