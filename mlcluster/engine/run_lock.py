"""The run lock of a stack: one `up`, `down` or `unlock` at a time on this machine, from before the preview to the end.

The kernel holds it (`flock`) for the process, so it ends with the process, SIGKILL included. Children do not inherit
it. The holder writes into the file who it is. The engine's own lock is another one: it covers single operations, and
other machines that share the backend.
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
"""How long a held lock may name no living process: it was just taken, or another command looks whether it is held."""
_PAUSE_SECONDS = 0.05
_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP})


@dataclass(frozen=True, slots=True)
class RunHolder:
    """The run that holds a stack.

    Attributes:
        stack: which stack.
        command: as it was typed: "mlcluster up atlas.yaml --yes".
        pid: process id.
        user: whose it is.
        host: on which machine.
        since: when it took the lock: UTC, RFC 3339.
        began: when the process started, in seconds since the epoch: tells it from a later one with the same pid.
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
        """Whether this process still runs; one on another host is taken to."""
        if self.host != socket.gethostname():
            return True
        facts = process_facts(self.pid)
        return facts is not None and (not facts.began or abs(facts.began - self.began) < 1.0)


class RunInProgressError(MlclusterError):
    """Another run holds the stack; nothing was started."""

    def __init__(self, verb: str, stack: str, holder: RunHolder | None) -> None:
        who = "another command" if holder is None else str(holder)
        super().__init__(
            f"starting `{verb}`",
            f"another run is in progress on {stack}: {who}",
            "Wait for it to end. If it is waiting for an answer on its terminal, answer it or press Ctrl-C there.",
        )
        self.holder = holder


def run_lock_path(home: StackHome) -> Path:
    """Where the run lock is: beside the home, which `down` removes while it holds the lock."""
    return home.root.with_name(f".{home.root.name}.run")


@contextmanager
def run_lock(home: StackHome, verb: str, patience: float = NAMELESS_SECONDS) -> Iterator[bool]:
    """Holds the stack's run lock; yields False on a file system without locks, where only the engine's lock protects.

    Args:
        home: of the stack; need not exist.
        verb: what wants to run, for the error.
        patience: seconds to wait for the name of the holder.

    Raises:
        RunInProgressError: another run holds it; names it.
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
            if _is_at(descriptor, path):  # else it is the lock of another run, e.g. after the file was removed by hand
                path.unlink()  # while the lock is held: a later command finds another file, or none
        os.close(descriptor)


def run_in_progress(home: StackHome) -> RunHolder | None:
    """The run that holds the stack now, None for none; changes nothing."""
    return _holder(run_lock_path(home))


def runs_in_progress(stacks: Path) -> list[RunHolder]:
    """The runs that hold the stacks in a directory now, by stack; changes nothing."""
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
    """The descriptor that holds the lock; None where the file system has no locks."""
    until = time.monotonic() + patience
    while True:
        with explained("taking the stack's run lock", path):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        kept = False
        try:
            if _lock(descriptor, fcntl.LOCK_EX):
                kept = _is_at(descriptor, path)  # else the run before has removed it meanwhile
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
    """Whether the open file is the one that has this name."""
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
