"""Timing whole processes, and printing each figure as a ratio against something else of the same minute."""

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Timing:
    """Wall seconds of several runs of one command, and the largest memory of any of them in MiB."""

    seconds: tuple[float, ...]
    memory_mib: float

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def best(self) -> float:
        return min(self.seconds)


def timed(command: Sequence[str], *, runs: int = 1, environment: dict[str, str] | None = None) -> Timing:
    """Runs a command `runs` times; it has to succeed."""
    seconds = []
    memory = 0.0
    for _ in range(runs):
        before = time.perf_counter()
        process = subprocess.Popen(
            list(command), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=ROOT,
            env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert process.stderr is not None
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stderr.close()
        seconds.append(time.perf_counter() - before)
        if process.returncode:
            sys.exit(f"{' '.join(command)}: exit code {process.returncode}\n{errors.decode()}")
        memory = max(memory, _mib(usage))
    return Timing(tuple(seconds), memory)


def _mib(usage: resource.struct_rusage) -> float:
    return usage.ru_maxrss / 1024


def ratio(name: str, ours: float, against: str, theirs: float, aim: str = "") -> None:
    """One line: ours, theirs, ours / theirs."""
    aimed = f"   aim {aim}" if aim else ""
    print(f"{name:<44} {ours:8.2f} s   {against:<38} {theirs:8.2f} s   ratio {ours / theirs:6.2f}{aimed}")


def events(command: Sequence[str], environment: dict[str, str]) -> list[tuple[float, dict[str, object]]]:
    """Runs a command that prints one JSON object a line; each with the second it came at."""
    began = time.perf_counter()
    process = subprocess.Popen(
        list(command), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, cwd=ROOT, text=True,
        env={**os.environ, **environment},
    )  # fmt: skip
    assert process.stdout is not None
    with process.stdout:
        found = [(time.perf_counter() - began, json.loads(line)) for line in process.stdout]
    if process.wait():
        sys.exit(f"{' '.join(command)}: exit code {process.returncode}: {found[-1:]}")
    return found
