"""The run lock of a stack: one `up`, `down` or `unlock` at a time on this machine, from before the preview to the end.

The kernel holds it (`flock`) for the process, so it ends with the process, SIGKILL included. Children do not inherit
it. The holder writes its identity into the file. The engine has a different lock, which covers single operations and
protects from other machines that share the backend.
"""

import errno
import fcntl
import getpass
import json
import os
import shlex
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from mlcluster.directories import explained
from mlcluster.engine.files import private_directory
from mlcluster.engine.home import StackHome
from mlcluster.engine.locks import process_facts
from mlcluster.errors import MlclusterError

NAMELESS_SECONDS = 3.0
"""How long a lock may name no live process: its owner has just taken it, or another command is checking it."""
_PAUSE_SECONDS = 0.05
_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP})


@dataclass(frozen=True, slots=True)
class RunHolder:
    """The run that holds a stack.

    Attributes:
        stack: name of the stack.
        command: the command as typed: "mlcluster up atlas.yaml --yes".
        pid: process id.
        user: the user of the process.
        host: the host of the process.
        since: when it took the lock: UTC, RFC 3339.
        began: start of the process in seconds since the epoch; a later process with its pid has another one.
    """

    stack: str
    command: str
    pid: int
    user: str
    host: str
    since: str
    began: float

    def __str__(self) -> str:
        since = datetime.fromisoformat(self.since)
        return f"`{self.command}`, pid {self.pid} of {self.user}@{self.host} since {since:%Y-%m-%d %H:%M:%S} UTC"

    @property
    def lives(self) -> bool:
        """Whether this process still runs; a process on another host is assumed to run."""
        if self.host != socket.gethostname():
            return True
        facts = process_facts(self.pid)
        return facts is not None and (not facts.began or abs(facts.began - self.began) < 1.0)


class RunInProgressError(MlclusterError):
    """Another run holds the stack, so the command did not start."""

    def __init__(self, verb: str, stack: str, holder: RunHolder | None) -> None:
        owner = "another command" if holder is None else str(holder)
        super().__init__(
            f"starting `{verb}`",
            f"another run is in progress on {stack}: {owner}",
            "Wait for it to end. If it is waiting for input on its terminal, answer it or press Ctrl-C there.",
        )
        self.holder = holder


def run_lock_path(home: StackHome) -> Path:
    """Return the path of the run lock, beside the home, because `down` deletes the home while it holds the lock."""
    return home.root.with_name(f".{home.root.name}.run")


@contextmanager
def run_lock(home: StackHome, verb: str, patience: float = NAMELESS_SECONDS) -> Iterator[bool]:
    """Hold the stack's run lock; yields False on a file system without locks, where only the engine's lock protects.

    Args:
        home: directories of the stack, which need not exist.
        verb: the command that wants to run, for the error.
        patience: seconds to wait for the name of the holder.

    Raises:
        RunInProgressError: another run holds the lock.
        MlclusterError: the file cannot be written.
    """
    path = run_lock_path(home)
    private_directory(path.parent)
    descriptor = _acquired(path, home.name, verb, patience)
    if descriptor is None:
        yield False
        return
    try:
        with explained("writing the stack's run lock", path):
            _write(descriptor, _this_process(home.name))
        yield True
    finally:
        with suppress(OSError):
            if _is_at(descriptor, path):  # else it is the lock of another run, e.g. after a user deleted the file
                path.unlink()  # while the lock is held: a later command finds another file, or none
        os.close(descriptor)


def run_in_progress(home: StackHome) -> RunHolder | None:
    """Return the run that holds the stack, or None, without a change to the lock."""
    return _holder(run_lock_path(home))


def runs_in_progress(stacks: Path) -> list[RunHolder]:
    """Return the runs that hold the stacks of a directory, sorted by stack, without a change to the locks."""
    found = [_holder(path) for path in stacks.glob(".*.run")]
    return sorted((holder for holder in found if holder is not None), key=lambda holder: holder.stack)


def _holder(path: Path) -> RunHolder | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        until = time.monotonic() + NAMELESS_SECONDS
        while not _lock(descriptor, fcntl.LOCK_SH):
            holder = _read(descriptor)
            if holder is not None and holder.lives:
                return holder
            if time.monotonic() > until:
                return None
            time.sleep(_PAUSE_SECONDS)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return None


def _acquired(path: Path, stack: str, verb: str, patience: float) -> int | None:
    """Return the descriptor that holds the lock; None if the file system has no locks."""
    until = time.monotonic() + patience
    while True:
        with explained("taking the stack's run lock", path):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        kept = False
        try:
            if _lock(descriptor, fcntl.LOCK_EX):
                kept = _is_at(descriptor, path)  # else the previous run has removed it meanwhile
                if kept:
                    return descriptor
                continue
            holder = _read(descriptor)
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return None
            raise
        finally:
            if not kept:
                os.close(descriptor)
        if (holder is not None and holder.lives) or time.monotonic() > until:
            raise RunInProgressError(verb, stack, holder if holder is not None and holder.lives else None)
        time.sleep(_PAUSE_SECONDS)


def _lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    """Return whether the open file is the file at this path."""
    opened = os.fstat(descriptor)
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    return (opened.st_dev, opened.st_ino) == (there.st_dev, there.st_ino)


def _this_process(stack: str) -> RunHolder:
    facts = process_facts(os.getpid())
    words = [Path(sys.argv[0]).name.replace("__main__.py", "mlcluster"), *sys.argv[1:]]
    since = datetime.now(UTC).isoformat(timespec="seconds")
    began = facts.began if facts else 0.0
    return RunHolder(stack, shlex.join(words), os.getpid(), _user(), socket.gethostname(), since, began)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run as a user that has no name
        return str(os.getuid())


def _write(descriptor: int, holder: RunHolder) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(asdict(holder)).encode(), 0)


def _read(descriptor: int) -> RunHolder | None:
    try:
        return RunHolder(**json.loads(os.pread(descriptor, 65536, 0)))
    except (ValueError, TypeError):  # not written yet
        return None
