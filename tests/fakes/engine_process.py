"""A `small_stack` process under test: started in a group of its own, signalled by the test, read line by line."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tests.waiting import PATIENCE_SECONDS, wait_for

AT_A_TIME = 2
"""The engine changes four resources at a time per processor that it sees; with this it sees the same everywhere."""


@dataclass
class EngineProcess:
    """The process, and what a test may do to it.

    Attributes:
        process: its group is its own.
        stdout: a file with all that it printed so far; so is `stderr`.
    """

    process: subprocess.Popen[bytes]
    stdout: Path
    stderr: Path

    def wait_for(self, what: str, probe: Callable[[], object]) -> None:
        """Waits until `probe` is true; fails with `what` when the process ends before that, or it never is."""

        def look() -> object:
            ended = self.process.poll() is not None
            found = probe()
            assert found or not ended, f"ended before {what}: {self.stdout.read_text()}{self.stderr.read_text()}"
            return found

        wait_for(what, look)

    def wait_until_told(self, text: str) -> None:
        """Waits until the process has printed `text`."""
        self.wait_for(text, lambda: text in self.stdout.read_text())

    def engine(self) -> psutil.Process:
        """The pulumi process below it."""
        found: list[psutil.Process] = []

        def look() -> bool:
            with suppress(psutil.NoSuchProcess):  # a quick command ended while we looked
                found[:] = [child for child in psutil.Process(self.process.pid).children() if child.name() == "pulumi"]
            return bool(found)

        self.wait_for("the engine", look)
        return found[0]

    def terminal_interrupt(self) -> None:
        """What a terminal does on Ctrl-C: SIGINT to the whole foreground group."""
        os.killpg(self.process.pid, signal.SIGINT)

    def end(self) -> tuple[int, list[dict[str, Any]]]:
        """Waits for the end; returns the exit code and the lines it printed."""
        code = self.process.wait(PATIENCE_SECONDS)
        assert not self.stderr.read_text()
        return code, [json.loads(line) for line in self.stdout.read_text().splitlines()]


@contextmanager
def engine_process(verb: str, root: Path, port: int, count: int, binary: Path) -> Iterator[EngineProcess]:
    """Runs `verb` on a small stack of `count` config maps; whatever is left of it is killed at the end."""
    argv = [sys.executable, "-m", "tests.fakes.small_stack", verb, str(root), str(port), str(count), str(binary)]
    project = Path(__file__).parent.parent.parent
    environment = {**os.environ, "GOMAXPROCS": str(AT_A_TIME)}
    stdout, stderr = root.with_name("stdout"), root.with_name("stderr")
    with (
        stdout.open("wb") as out,
        stderr.open("wb") as err,
        subprocess.Popen(argv, cwd=project, env=environment, stdout=out, stderr=err, process_group=0) as process,
    ):
        try:
            yield EngineProcess(process, stdout, stderr)
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    below = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    for child in below:
        with suppress(psutil.NoSuchProcess):
            child.kill()
