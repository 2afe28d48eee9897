"""Locks of a file backend: their owners, and whether these are alive.

The engine writes one JSON file for each running update and removes it at the end. It never checks whether the owner is
alive.
"""

import contextlib
import json
import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from mlcluster.engine.home import StackHome

if TYPE_CHECKING:
    import psutil

_HELD = re.compile(
    r"^\s*(?P<path>\S+): created by (?P<user>[^@\s]+)@(?P<host>\S+) \(pid (?P<pid>\d+)\) at (?P<time>\S+)", re.MULTILINE
)
ENGINE = "pulumi"
"""Name of the engine's process; its plugins are named pulumi-resource-NAME and pulumi-language-NAME."""
_HOLDERS = (ENGINE, "mlcluster")
PARENT_VARIABLE = "MLCLUSTER_ENGINE_PARENT"
"""Environment variable of an engine: the pid of the mlcluster that started it, which identifies orphans."""
_CLOCK_SLACK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Lock:
    """One lock file.

    Attributes:
        pid: process id of the engine that wrote it.
        user: the user of that process.
        host: the host of that process.
        started: the start time in UTC; None if the file does not contain it.
        path: the file, or its URL in another kind of backend.
    """

    pid: int
    user: str
    host: str
    started: datetime | None
    path: str

    @property
    def owner(self) -> str:
        """The owner as text."""
        when = f" since {self.started:%Y-%m-%d %H:%M:%S} UTC" if self.started else ""
        return f"pid {self.pid} of {self.user}@{self.host}{when}"

    @property
    def is_here(self) -> bool:
        """Whether the owner ran on this host."""
        return self.host == socket.gethostname()


@dataclass(frozen=True, slots=True)
class ProcessFacts:
    """The facts of a process on this host.

    Attributes:
        began: start time in seconds since the epoch.
        words: its name and command line.
        orphaned: whether it is an engine whose mlcluster has ended.
    """

    began: float
    words: str
    orphaned: bool = False


def process_facts(pid: int) -> ProcessFacts | None:
    """Return the facts of a process on this host; None if no such process runs."""
    import psutil

    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        parent = process.environ().get(PARENT_VARIABLE, "")
        words = f"{process.name()} {' '.join(process.cmdline())}"
        return ProcessFacts(process.create_time(), words, bool(parent) and not _outlived_by(process, parent))
    except psutil.NoSuchProcess:
        return None
    except psutil.AccessDenied:  # it is alive, but belongs to another user
        return ProcessFacts(0.0, ENGINE)


def is_alive(lock: Lock, look: Callable[[int], ProcessFacts | None] = process_facts) -> bool | None:
    """Return whether the owner is alive; None if it ran on another host."""
    if not lock.is_here:
        return None
    facts = look(lock.pid)
    if facts is None:
        return False
    if lock.started is not None and facts.began > lock.started.timestamp() + _CLOCK_SLACK_SECONDS:
        return False  # another process has the pid now
    return any(name in facts.words for name in _HOLDERS)


def is_orphan(lock: Lock, look: Callable[[int], ProcessFacts | None] = process_facts) -> bool:
    """Return whether the owner is alive on this host, but the mlcluster that started it was killed."""
    facts = look(lock.pid) if lock.is_here and is_alive(lock, look) else None
    return facts is not None and facts.orphaned


def orphaned_engines(home: StackHome) -> list[int]:
    """Return the pids of engines that work for this stack on this host, and whose mlcluster has ended.

    The locks do not suffice, because an engine that has just started has no lock yet.
    """
    import psutil

    found = []
    for process in psutil.process_iter(["name"]):
        if process.info["name"] != ENGINE:
            continue
        with contextlib.suppress(psutil.Error):
            environment = process.environ()
            here = environment.get("PULUMI_HOME") == str(home.plugin_home)
            parent = environment.get(PARENT_VARIABLE, "")
            if here and parent and not _outlived_by(process, parent):
                found.append(process.pid)
    return found


def _outlived_by(engine: "psutil.Process", parent: str) -> bool:
    """Return whether the mlcluster with the pid `parent` still runs.

    It is not always the parent process: if `pulumi` on PATH is a script, the script is between the two. A process that
    reuses its pid started later than the engine.
    """
    import psutil

    try:
        process = psutil.Process(int(parent))
        return process.status() != psutil.STATUS_ZOMBIE and process.create_time() <= engine.create_time()
    except (psutil.NoSuchProcess, ValueError):
        return False


def parse_lock(text: str, path: str) -> Lock:
    """Parse a lock file of the engine; raises ValueError, KeyError, TypeError or AttributeError for invalid files."""
    found = json.loads(text)
    user, host = str(found.get("username", "unknown")), str(found.get("hostname", "unknown"))
    return Lock(int(found["pid"]), user, host, _moment(str(found.get("timestamp", ""))), path)


def locks_in_message(stderr: str) -> list[Lock]:
    """Return the locks that the message of a lock conflict names: the only source for other than file backends."""
    return [
        Lock(int(held["pid"]), held["user"], held["host"], _moment(held["time"]), held["path"].split("?")[0])
        for held in _HELD.finditer(stderr)
    ]


def read_locks(home: StackHome, project: str) -> list[Lock]:
    """Return the locks of a project's stack, oldest first; [] if the backend is not a file backend.

    An unreadable file counts as a lock of an unknown host.
    """
    base = home.state_files
    if base is None:
        return []
    directory = base / ".pulumi" / "locks" / "organization" / project / home.name
    found = [lock for path in sorted(directory.glob("*.json")) if (lock := _read(path)) is not None]
    return sorted(found, key=lambda lock: lock.started or datetime.min.replace(tzinfo=UTC))


def remove_locks(locks: Sequence[Lock]) -> None:
    """Delete exactly these files, so that a lock that another run has taken meanwhile stays."""
    for lock in locks:
        Path(lock.path).unlink(missing_ok=True)


def _read(path: Path) -> Lock | None:
    try:
        return parse_lock(path.read_text(encoding="utf-8"), str(path))
    except FileNotFoundError:  # released between listing and reading
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Lock(0, "unknown", "unknown host", None, str(path))


def _moment(text: str) -> datetime | None:
    """Parse an RFC 3339 time with nanoseconds, of which Python accepts at most six digits."""
    shortened = re.sub(r"(\.\d{6})\d+", r"\1", text.replace("Z", "+00:00"))
    try:
        moment = datetime.fromisoformat(shortened)
    except ValueError:
        return None
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
