"""Detached processes, identified by pid and start time, so that a reused pid is never mistaken for one of them."""

import contextlib
import os
import shutil
import signal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import psutil

from mlcluster.errors import MlclusterError
from mlcluster.waiting import wait_while

_INHERITED = ("PATH", "HOME", "TMPDIR", "LANG", "SSL_CERT_FILE")
_SAME_START = 0.5  # seconds; rounding of the kernel
_POLL = 0.02
_codes: dict[int, int] = {}  # exit codes of children, which the kernel returns only once


@dataclass(frozen=True)
class Process:
    """A process in a record. `created` is its start in seconds since the epoch, from the kernel."""

    name: str
    pid: int
    created: float
    argv: tuple[str, ...]
    log: Path


def spawn(  # noqa: PLR0913 - what a process is given
    name: str,
    argv: Sequence[str],
    log: Path,
    directory: Path,
    *,
    tied: bool = False,
    more: Mapping[str, str] = MappingProxyType({}),
) -> Process:
    """Start a program in its own session, with the working directory `directory` and output appended to `log`.

    Its environment is small: etcd would treat ETCD_* as flags, and secrets of the caller would stay readable in a
    process that outlives it. `more` is added to the environment. With `tied`, the kernel kills the process when the
    calling process ends (requires setpriv).

    Raises:
        MlclusterError: the program does not exist or is not executable.
    """
    if not os.access(argv[0], os.X_OK, effective_ids=True):
        raise MlclusterError(f"starting {name}", f"{argv[0]} is missing or not executable", "Run `mlcluster doctor`.")
    environment = {key: os.environ[key] for key in _INHERITED if key in os.environ} | dict(more)
    to_log = (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    no_input = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    shell = ["/bin/sh", "-c", 'cd "$0" && umask 077 && exec "$@"', str(directory), *_leash(tied=tied), *argv]
    pid = os.posix_spawn(
        shell[0], shell, environment, file_actions=[no_input, to_log, (os.POSIX_SPAWN_DUP2, 1, 2)], setsid=True
    )
    _codes.pop(pid, None)
    return Process(name, pid, psutil.Process(pid).create_time(), tuple(argv), log)


def _leash(*, tied: bool) -> list[str]:
    setpriv = shutil.which("setpriv") if tied else None
    return [setpriv, "--pdeathsig", "KILL"] if setpriv else []


def exit_code(process: Process) -> int | None:
    """Reap an ended child, and return its exit code, negative for a signal; None for other processes."""
    with contextlib.suppress(ChildProcessError):
        pid, status = os.waitpid(process.pid, os.WNOHANG)
        if pid:
            _codes[pid] = os.waitstatus_to_exitcode(status)
    return _codes.get(process.pid)


def alive(process: Process) -> bool:
    """Return whether exactly this process still runs, not a zombie or another program with its pid.

    After a change of the clock, the kernel computes other start times, so an equal command line counts too.
    """
    return _state(process) == "alive"


def _state(process: Process) -> Literal["alive", "ending", "gone"]:
    """Return the state; `ending` is a zombie with running threads, which still holds its ports and file locks."""
    exit_code(process)
    try:
        found = psutil.Process(process.pid)
        over = found.status() in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}
        same = abs(found.create_time() - process.created) < _SAME_START or tuple(found.cmdline()) == process.argv
        if over and same and found.num_threads() > 1:
            return "ending"
    except psutil.Error:
        return "gone"
    if over:
        exit_code(process)  # it ended between the two checks
    return "alive" if same and not over else "gone"


def memory_mib(process: Process) -> int:
    """Return the resident memory in MiB, 0 for an ended process."""
    try:
        return int(psutil.Process(process.pid).memory_info().rss) >> 20
    except psutil.Error:
        return 0


def stop(process: Process, grace: float = 10.0) -> bool:
    """Stop a process by SIGTERM and after `grace` seconds by SIGKILL; return whether SIGKILL was necessary."""
    _signal(process, signal.SIGTERM)
    if _gone_within(process, grace):
        return False
    _signal(process, signal.SIGKILL)
    _gone_within(process, 5.0)
    return True


def _signal(process: Process, number: signal.Signals) -> None:
    if alive(process):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)


def _gone_within(process: Process, seconds: float) -> bool:
    return not wait_while(lambda: _state(process) != "gone", seconds, pause=_POLL)


def last_lines(log: Path, count: int = 15, most: int = 64 << 10) -> str:
    """Return the last `count` lines of a log, from at most its last `most` bytes."""
    try:
        with log.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - most))
            lines = file.read().decode(errors="replace").splitlines()
    except FileNotFoundError:
        return ""
    return "\n".join(line[:600] for line in lines[-count:])


def strays(root: Path, names: Iterable[str]) -> list[Process]:
    """Return running programs with one of `names` whose arguments contain `root`, also those without a record.

    A start that is killed between spawning and recording leaves such a process.
    """
    wanted, inside = set(names), f"{root}{os.sep}"
    found = []
    for candidate in psutil.process_iter(["pid", "cmdline", "create_time", "status"]):
        argv = candidate.info["cmdline"] or []
        if argv and Path(argv[0]).name in wanted and any(inside in argument for argument in argv[1:]):
            name = Path(argv[0]).name
            log = root / "logs" / f"{name}.log"
            found.append(Process(name, candidate.info["pid"], candidate.info["create_time"], tuple(argv), log))
    return found
