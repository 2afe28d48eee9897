"""Run other programs with a time limit. None of them outlives mlcluster."""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_GUARD = 'trap "" INT TERM HUP; read -r _; kill -INT 0; sleep 5; kill -KILL 0'
"""Waits for the end of its standard input, then ends its process group: first asks, then kills."""


@dataclass(frozen=True, slots=True)
class Answer:
    """How a program ended.

    Attributes:
        code: exit code, negative for a signal; None when it did not end in time and was killed.
        stdout: its standard output.
        stderr: its standard error, or the reason why it did not start.
    """

    code: int | None
    stdout: str = ""
    stderr: str = ""


def ask(
    argv: Sequence[str | Path],
    seconds: float,
    environment: Mapping[str, str] | None = None,
    directory: str | None = None,
) -> Answer:
    """Run a program and return its answer; after `seconds` it is killed together with everything that it started.

    Args:
        argv: the program and its arguments.
        seconds: how long it may take.
        environment: all of it; None for the caller's.
        directory: where it runs; None for the caller's.
    """
    try:
        child = subprocess.Popen(
            [str(word) for word in argv],
            env=environment,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,  # ends a wrapper script and its child processes together
        )
    except OSError as error:
        return Answer(126, stderr=str(error))
    with child:
        try:
            stdout, stderr = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            _kill(child)
            return Answer(None)
        except BaseException:
            _kill(child)
            raise
    return Answer(child.returncode, stdout, stderr)


@contextmanager
def bound_group() -> Iterator[int]:
    """Yield a process group that ends with this process, however that ends: start programs with `process_group`.

    The kernel closes the pipe to the group's first process when this process ends, after SIGKILL too. An exception
    inside the context ends the group at once.
    """
    with subprocess.Popen(["/bin/sh", "-c", _GUARD], stdin=subprocess.PIPE, process_group=0) as guard:
        try:
            yield guard.pid
        except BaseException:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(guard.pid, signal.SIGKILL)
            raise
        finally:
            guard.kill()


def run_bound(argv: Sequence[str | Path], **options: Any) -> "subprocess.CompletedProcess[str]":
    """Run a program to its end like `subprocess.run` with captured text; it ends with this process."""
    with bound_group() as group:
        return subprocess.run(argv, capture_output=True, text=True, check=False, process_group=group, **options)


def _kill(child: "subprocess.Popen[str]") -> None:
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
