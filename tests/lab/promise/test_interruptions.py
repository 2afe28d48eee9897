"""Ctrl-C, SIGKILL, concurrent runs, a dead API server: each has a clear message, and the next `up` converges."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from mlcluster.kube.client import Kube
from mlcluster.lab.lab import Lab
from mlcluster.progress import Silent
from tests.lab.workloads import environment
from tests.waiting import PATIENCE_SECONDS, wait_for

pytestmark = pytest.mark.lab
MORE_TEAMS = 3
"""How many each interrupted `up` adds: to delete the teams before the next test would take longer than the test."""
HEAD = """\
apiVersion: mlcluster/v1alpha1
kind: Cluster
metadata: {name: crowd}
target: {kind: local}
nodePools:
  - {name: cpu, instanceType: m7i.2xlarge, maxSize: 2}
teams:
"""


@dataclass(frozen=True)
class HalfDone:
    """An `up` with a paused engine that has created at least one resource."""

    process: subprocess.Popen[bytes]
    engine: psutil.Process

    def goes_on(self) -> int:
        """Let the engine continue to the end, and return the exit code of the command."""
        self.engine.resume()
        return self.process.wait(PATIENCE_SECONDS)


class Crowd:
    """A cluster with many teams: an `up` that takes long enough to be interrupted."""

    def __init__(self, folder: Path) -> None:
        self.spec = folder / "crowd.yaml"
        self.environment = environment(folder / "state")
        self.lab = Lab("crowd", folder / "state" / "labs" / "crowd")
        self.log = folder / "log.txt"
        self.teams = 0
        self.write()

    def write(self) -> None:
        """Write the spec with that many teams."""
        listed = [f"  - {{name: t{n}, borrow: all}}" for n in range(self.teams)] or ["  []"]
        self.spec.write_text(HEAD + "\n".join(listed) + "\n", "utf-8")

    def command(self, verb: str, *options: str) -> list[str]:
        return [sys.executable, "-m", "mlcluster", verb, str(self.spec), *options]

    def run(self, verb: str, *options: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            self.command(verb, *options),
            check=False, capture_output=True, text=True, env=self.environment, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def start_up(self) -> HalfDone:
        """Return an `up` that was stopped in the middle."""
        with self.log.open("wb") as log:
            process = subprocess.Popen(
                self.command("up", "--yes"), stdout=log, stderr=log, env=self.environment, stdin=subprocess.DEVNULL
            )
        wait_for("the first resource", lambda: "created Namespace" in self.log.read_text("utf-8"), pause=0.01)
        assert process.poll() is None, self.log.read_text("utf-8")
        (engine,) = (child for child in psutil.Process(process.pid).children() if child.name() == "pulumi")
        engine.suspend()
        return HalfDone(process, engine)


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crowd]:
    """Yield the cluster, first without teams."""
    found = Crowd(tmp_path_factory.mktemp("crowd"))
    done = found.run("up", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    yield found
    down = found.run("down", "--yes")
    found.lab.reset(Silent())
    assert down.returncode == 0, down.stdout + down.stderr


@pytest.fixture
def growing(crowd: Crowd) -> Crowd:
    """Return the cluster, with more teams in the spec than there are."""
    crowd.teams += MORE_TEAMS
    crowd.write()
    return crowd


def _converges(crowd: Crowd) -> None:
    done = crowd.run("up", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    again = crowd.run("preview")
    assert "nothing to change" in again.stdout.splitlines()[-1], again.stdout


def test_a_second_up_names_the_holder_of_the_lock(growing: Crowd) -> None:
    first = growing.start_up()
    second = growing.run("up", "--yes")
    status = growing.run("status", "-o", "json")
    assert first.goes_on() == 0, growing.log.read_text("utf-8")
    assert second.returncode == 1, second.stdout + second.stderr
    assert "another run is in progress on crowd" in second.stderr
    assert f"pid {first.process.pid} of " in second.stderr
    found = json.loads(status.stdout)
    assert (found["state"], found["run"]["pid"]) == ("inProgress", first.process.pid)


def test_ctrl_c_ends_the_engine_cleanly(growing: Crowd) -> None:
    running = growing.start_up()
    running.process.send_signal(signal.SIGINT)
    wait_for("the answer", lambda: "Stopping after the running operations" in growing.log.read_text("utf-8"))
    assert running.goes_on() == 130
    text = growing.log.read_text("utf-8")
    assert "Traceback" not in text
    _converges(growing)


def test_killed_up_converges(growing: Crowd) -> None:
    """SIGKILL of the command and of its engine; the lab's own processes live on."""
    running = growing.start_up()
    running.process.kill()
    running.process.wait()
    with suppress(psutil.NoSuchProcess):  # whom the kernel ends when nobody is left to wake it up
        running.engine.kill()
    found = json.loads(growing.run("status", "-o", "json").stdout)
    assert found["state"] == "incomplete"
    assert found["run"] is None
    assert found["missing"]
    _converges(growing)


def test_dead_api_server_is_found_before_the_preview(crowd: Crowd) -> None:
    """On `existing`, mlcluster does not start the API server: the only message is the refused connection."""
    text = crowd.spec.read_text("utf-8")
    kubeconfig = crowd.lab.kubeconfig.read_text("utf-8")
    dead = crowd.spec.with_name("dead.kubeconfig")
    port = kubeconfig.split("https://127.0.0.1:")[1].split('"')[0].split("\n")[0]
    dead.write_text(kubeconfig.replace(f"127.0.0.1:{port}", "127.0.0.1:1"), "utf-8")
    try:
        pools = "  - {name: cpu, instanceType: m7i.2xlarge, maxSize: 2, selector: {role: cpu}}\nteams: []\n"
        target = f"target: {{kind: existing, kubeconfig: {dead}}}\nnodePools:\n"
        head = HEAD.split("target:", maxsplit=1)[0].replace("crowd", "dead")
        crowd.spec.write_text(head + target + pools, "utf-8")
        for verb in ("preview", "up", "status", "down"):
            done = crowd.run(verb, *(["--yes"] if verb in {"up", "down"} else []))
            assert done.returncode == 1
            assert "is not running: the connection was refused" in done.stderr
            assert "Traceback" not in done.stderr
    finally:
        crowd.spec.write_text(text, "utf-8")


def test_down_deletes_the_lab_with_the_objects_of_users(crowd: Crowd) -> None:
    """A user's object in `default` is listed and does not keep `down` from ending."""
    foreign = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "foreign", "namespace": "default"}}
    with Kube.from_kubeconfig(crowd.lab.kubeconfig) as kube:
        kube.create(foreign)
    done = crowd.run("down", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    told = "Deleted with the lab: 1 entry that mlcluster did not create: /registry/configmaps/default/foreign"
    assert told in done.stderr
    assert not crowd.lab.kubeconfig.exists()
