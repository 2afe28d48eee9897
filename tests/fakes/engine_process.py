"""A `small_stack` process under test: started in a group of its own, signalled by the test, read line by line."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

PATIENCE_SECONDS = 60.0


def wait_for(what: str, probe: Callable[[], object]) -> None:
    """Waits until `probe` is true; fails with `what` when it never is."""
    until = time.monotonic() + PATIENCE_SECONDS
    while not probe():
        if time.monotonic() > until:
            raise AssertionError(f"still waiting for {what}")
        time.sleep(0.02)


@dataclass
class EngineProcess:
    """The process, and what a test may do to it."""

    process: subprocess.Popen[str]

    def engine(self) -> psutil.Process:
        """The pulumi process below it."""
        found: list[psutil.Process] = []

        def look() -> bool:
            found[:] = [child for child in psutil.Process(self.process.pid).children() if child.name() == "pulumi"]
            return bool(found)

        wait_for("the engine", look)
        return found[0]

    def terminal_interrupt(self) -> None:
        """What a terminal does on Ctrl-C: SIGINT to the whole foreground group."""
        os.killpg(self.process.pid, signal.SIGINT)

    def end(self) -> tuple[int, list[dict[str, Any]]]:
        """Waits for the end; returns the exit code and the lines it printed."""
        stdout, stderr = self.process.communicate(timeout=PATIENCE_SECONDS)
        assert not stderr, stderr
        return self.process.returncode, [json.loads(line) for line in stdout.splitlines()]


@contextmanager
def engine_process(verb: str, root: Path, port: int, count: int, binary: Path) -> Iterator[EngineProcess]:
    """Runs `verb` on a small stack of `count` config maps; whatever is left of it is killed at the end."""
    argv = [sys.executable, "-m", "tests.fakes.small_stack", verb, str(root), str(port), str(count), str(binary)]
    project = Path(__file__).parent.parent.parent
    with subprocess.Popen(
        argv, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0
    ) as process:
        below: list[psutil.Process] = []
        try:
            yield EngineProcess(process)
        finally:
            if process.poll() is None:
                below = psutil.Process(process.pid).children(recursive=True)
                process.kill()
            for child in below:
                if child.is_running():
                    child.kill()
