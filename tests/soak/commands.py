"""One `mlcluster` command under observation: its output with times, the processes that a victim may be, its end."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[2]
DEADLINE_SECONDS = 600.0
"""A command that takes longer hangs. The same command takes about 20 s on an idle machine, 300 s at a load of 30."""
LAB = "soak"
_LOOK_SECONDS = 0.05
SPEC = """\
apiVersion: mlcluster/v1alpha1
kind: Cluster
metadata: {name: soak}
target: {kind: local}
nodePools:
  - {name: system, instanceType: m7i.2xlarge, minSize: 1, maxSize: 1}
  - {name: train, instanceType: p5.48xlarge, maxSize: 1}
teams:
  - {name: red, guarantee: {train: {nodes: 1}}, borrow: all}
  - {name: blue, borrow: all}
"""


@dataclass(frozen=True)
class Place:
    """A private state directory with a spec."""

    root: Path

    @property
    def spec(self) -> Path:
        return self.root / "soak.yaml"

    @property
    def state(self) -> Path:
        return self.root / "state"

    @property
    def lab(self) -> Path:
        """Return directory of the lab."""
        return self.state / "labs" / LAB

    def prepare(self) -> None:
        """Make the directory and writes the spec."""
        self.root.mkdir(parents=True, exist_ok=True)
        self.spec.write_text(SPEC, "utf-8")

    def environment(self) -> dict[str, str]:
        """Return the environment of mlcluster of this checkout with this state, as for a user at a terminal."""
        kept = {
            key: value for key, value in os.environ.items() if key not in {"CI", "KUBECONFIG", "MLCLUSTER_BACKEND_URL"}
        }
        return {**kept, "MLCLUSTER_STATE_DIR": str(self.state), "PYTHONPATH": str(ROOT)}

    def processes(self) -> list[psutil.Process]:
        """Return every process that names this place in its arguments or its environment."""
        return [process for process in psutil.process_iter() if process.pid != os.getpid() and self._is_here(process)]

    def _is_here(self, process: psutil.Process) -> bool:
        with suppress(psutil.Error):
            told = [*process.cmdline(), process.environ().get("MLCLUSTER_STATE_DIR", "")]
            return process.status() != psutil.STATUS_ZOMBIE and any(str(self.root) in text for text in told)
        return False


@dataclass
class Command:
    """A running command.

    Attributes:
        lines: (seconds since its start, text) of all that it printed so far.
    """

    place: Place
    process: "subprocess.Popen[str]"
    began: float
    lines: list[tuple[float, str]] = field(default_factory=list)

    @classmethod
    def start(cls, place: Place, *arguments: str) -> "Command":
        """Start `mlcluster` with these arguments."""
        process = subprocess.Popen(
            [sys.executable, "-m", "mlcluster", *arguments],
            cwd=ROOT,
            env=place.environment(),
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started = cls(place, process, time.monotonic())
        started._reader = threading.Thread(target=started._read, daemon=True)
        started._reader.start()
        return started

    _reader: threading.Thread = field(init=False, repr=False)

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append((self.seconds, line.rstrip()))

    @property
    def seconds(self) -> float:
        """Return the seconds since its start."""
        return time.monotonic() - self.began

    @property
    def text(self) -> str:
        """Return all that it printed."""
        return "\n".join(f"{at:7.2f}  {line}" for at, line in list(self.lines))

    @property
    def step(self) -> str:
        """Return the last line that it printed."""
        return next((line.strip() for _, line in reversed(list(self.lines)) if line.strip()), "start")

    def victims(self, victim: str) -> list[psutil.Process]:
        """Return the processes to kill now; [] while one of them does not run."""
        if victim not in {"python", "engine", "both"}:
            return self._server(victim)
        with suppress(psutil.Error):
            python, engines = psutil.Process(self.process.pid), self._engines()
            return {"python": [python], "engine": engines, "both": [python, *engines] if engines else []}[victim]
        return []

    def _engines(self) -> list[psutil.Process]:
        with suppress(psutil.Error):
            return [child for child in psutil.Process(self.process.pid).children() if child.name() == "pulumi"]
        return []

    def _server(self, name: str) -> list[psutil.Process]:
        with suppress(OSError, ValueError, KeyError, psutil.Error):
            recorded = json.loads((self.place.lab / "state.json").read_text("utf-8"))["processes"]
            found = [psutil.Process(one["pid"]) for one in recorded if one["name"] == name]
            return [process for process in found if process.status() != psutil.STATUS_ZOMBIE]
        return []

    def looks(self, pause: float = _LOOK_SECONDS) -> Iterator[float]:
        """Yield the seconds since its start, again and again until it has ended or hangs."""
        while self.process.poll() is None and self.seconds < DEADLINE_SECONDS:
            yield self.seconds
            time.sleep(pause)

    def end(self) -> int | None:
        """Return the exit code; None for a command that does not end in time, which is killed then."""
        try:
            code = self.process.wait(max(1.0, DEADLINE_SECONDS - self.seconds))
        except subprocess.TimeoutExpired:
            self.process.kill()
            return None
        self._reader.join(1.0)  # an orphan may hold the pipe
        return code
