"""Check the stacks of a cluster: their backend, and locks."""

from collections.abc import Callable, Sequence
from pathlib import Path

from mlcluster.checks.model import Check, ok, problem, warning
from mlcluster.checks.storage import may_write
from mlcluster.engine.failures import Failed, explain, scrub
from mlcluster.engine.locks import Lock, is_alive
from mlcluster.processes import Answer

BACKEND = "state backend"
_DOING = "asking the state backend"


def file_backend_check(directory: Path, *, own: bool, writable: Callable[[Path], bool] = may_write) -> Check:
    """Check that a file backend can be used.

    Args:
        directory: the directory of its files.
        own: whether mlcluster creates the directory; a configured one must exist.
        writable: returns whether a directory or its nearest existing parent is writable.
    """
    if not own and not directory.is_dir():
        return problem(BACKEND, f"{directory} is not a directory", "Create it, or correct `state.backend`.")
    if not writable(directory):
        return problem(BACKEND, f"{directory} cannot be written to", "Correct its owner or mode.")
    return ok(BACKEND, f"files in {directory}")


def remote_backend_check(url: str, answer: Answer, seconds: float) -> Check:
    """Check that a backend responds to a list of its stacks by the engine, which writes no data.

    Args:
        url: URL of the backend.
        answer: the output of the engine.
        seconds: the time limit of the engine.
    """
    shown = scrub(url)
    if answer.code is None:
        return problem(BACKEND, f"{shown} does not respond within {seconds:g} s", "Check address, network and proxy.")
    if answer.code:
        error = explain(_DOING, Failed("", answer.code, answer.stderr))
        return problem(BACKEND, f"{shown}: {error.happened}", error.hint or "Check address and credentials.")
    return ok(BACKEND, f"{shown} responds; write access was not checked")


def lock_checks(
    held: Sequence[tuple[str, Sequence[Lock]]], spec: str, alive: Callable[[Lock], bool | None] = is_alive
) -> list[Check]:
    """Return a check for each lock, or one check if there is no lock.

    Args:
        held: the locks by project.
        spec: path of the spec, for the hint.
        alive: returns whether the owner of a lock is alive; None if it is on another host.
    """
    checks = [_lock(f"lock of {project}", lock, spec, alive(lock)) for project, locks in held for lock in locks]
    return checks or [ok("locks", "no lock is held")]


def _lock(name: str, lock: Lock, spec: str, alive: bool | None) -> Check:  # noqa: FBT001 - three values, not a flag
    owner = f"held by {lock.owner}"
    if alive:
        return warning(name, f"{owner}, which is still running", "Wait for it to end.")
    if alive is None:
        fix = f"Make sure that no run is in progress on that host, then run `mlcluster unlock {spec} --assume-dead`."
        return problem(name, f"{owner}, which cannot be checked from this host", fix)
    fix = f"Run `mlcluster up {spec}` again, which clears it, or `mlcluster unlock {spec}`."
    return warning(name, f"{owner}, which is no longer running", fix)
