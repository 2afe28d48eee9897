"""The lock of a lab: one command at a time uses it; the next one waits and names the holder."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from mlcluster.directories import explained
from mlcluster.lab.failures import LabBusy
from mlcluster.lab.layout import Layout
from mlcluster.progress import Progress

_PATIENCE = 300.0  # seconds; a start with Kueue takes about 10


@contextlib.contextmanager
def held(name: str, layout: Layout, progress: Progress, patience: float = _PATIENCE) -> Iterator[None]:
    """Hold the lab's lock.

    Raises:
        LabBusy: another command held it for `patience` seconds.
        MlclusterError: the lock cannot be written.
    """
    lock = _lock(name, layout)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        progress.say(f"lab {name}: waiting for another command ({holder(layout)})")
        try:
            lock.acquire(timeout=patience)
        except Timeout:
            raise LabBusy(name, holder(layout)) from None
    except OSError:
        with explained(f"locking lab {name}", layout.lock):
            raise
    try:
        with explained(f"locking lab {name}", _note(layout)):
            _note(layout).write_text(
                f"process {os.getpid()}, {Path(sys.argv[0]).name} {' '.join(sys.argv[1:3])}".strip()
            )
        yield
    finally:
        _note(layout).unlink(missing_ok=True)
        lock.release()


def _lock(name: str, layout: Layout) -> FileLock:
    with explained(f"locking lab {name}", layout.lock.parent):
        layout.lock.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return FileLock(layout.lock)


@contextlib.contextmanager
def held_if_free(layout: Layout, doing: str) -> Iterator[bool]:
    """Hold the lab's lock if it is free; yields whether it was."""
    layout.lock.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = FileLock(layout.lock)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        yield False
        return
    try:
        _note(layout).write_text(f"process {os.getpid()}, {doing}")
        yield True
    finally:
        _note(layout).unlink(missing_ok=True)
        lock.release()


def is_held(layout: Layout) -> bool:
    """Return whether a command holds the lock now."""
    if not layout.lock.exists():
        return False
    lock = FileLock(layout.lock)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    lock.release()
    return False


def is_held_here(layout: Layout) -> bool:
    """Return whether this process holds the lock."""
    return holder(layout).startswith(f"process {os.getpid()},")


def holder(layout: Layout) -> str:
    """Return the holder of the lock as text."""
    try:
        return _note(layout).read_text()
    except OSError:
        return "unknown"


def _note(layout: Layout) -> Path:
    return layout.lock.with_suffix(".holder")
