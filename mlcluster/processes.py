"""Short questions to other programs, with an end: none of them can keep mlcluster waiting."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Answer:
    """How a program ended.

    Attributes:
        code: exit code, negative for a signal; None when it did not end in time and was killed.
        stdout: what it printed.
        stderr: what it printed there, or why it could not be started.
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
            start_new_session=True,  # a wrapper script and what it waits for are ended together
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


def _kill(child: "subprocess.Popen[str]") -> None:
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
