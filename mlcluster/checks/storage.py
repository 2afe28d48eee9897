"""Check the directories of mlcluster on this machine: writable, and with free space."""

import os
from collections.abc import Callable
from pathlib import Path

from mlcluster.checks.model import Check, ok, problem, warning

LEAST = 100_000_000
"""The bytes that state and logs of one run can take."""

SOME = 1_000_000_000
"""Less free space causes a warning, because one plugin unpacks to several hundred megabytes."""

Writable = Callable[[Path], bool]


def may_write(place: Path) -> bool:
    """Return whether a directory, or its nearest existing parent, is writable.

    A path below a directory that this user cannot access (PermissionError) is not writable.
    """
    try:
        while not place.exists():
            place = place.parent
        return place.is_dir() and os.access(place, os.W_OK | os.X_OK)
    except OSError:
        return False


def directory_check(  # noqa: PLR0913 - the facts of a directory, by name
    name: str, place: Path, variable: str, free: int, *, writable: bool = True, needed: int = 0
) -> Check:
    """Check that a directory is writable and has enough free space.

    Args:
        name: name of the check.
        place: the directory, which need not exist.
        variable: the environment variable that sets it.
        free: the free bytes on its disk.
        writable: whether it is writable.
        needed: the bytes that the next command needs.
    """
    move = f"set {variable} to a directory on another disk"
    if not writable:
        return problem(name, f"{place} cannot be written to", f"Correct its owner or mode, or {move}.")
    room = f"{place}, {free / 1e9:.1f} GB free"
    if free < max(needed, LEAST):
        short = f", and {max(needed, LEAST) / 1e9:.1f} GB are needed"
        return problem(name, room + short, f"Free some space, or {move}.")
    if free < SOME:
        return warning(name, room, f"Free some space, or {move}.")
    return ok(name, room)
