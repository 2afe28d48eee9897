"""`kubernetesProvider: official` through the command line on a real API server, with the stand-in for the plugin."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlcluster.kube.client import Kube
from mlcluster.lab.lab import Lab
from tests.fakes.engine_process import wait_for
from tests.fakes.official_provider import OfficialWorld, serve_official
from tests.lab.workloads import environment

pytestmark = pytest.mark.lab
SPEC = """\
apiVersion: mlcluster/v1alpha1
kind: Cluster
metadata: {{name: plugged}}
target: {{kind: existing, kubeconfig: {kubeconfig}, kubernetesProvider: official}}
components: {{kueue: {{install: false}}}}
nodePools:
  - name: plugged-cpu
    nodeShape: {{cpu: "16", memory: 64Gi}}
    maxSize: 2
    selector: {{role: plugged}}
priorityTiers: [{{name: plugged-tier, value: {value}}}]
teams:
  - name: plugged-team
    guarantee: {{plugged-cpu: {{nodes: 1}}}}
"""


class Desk:
    """A user at a terminal with one spec."""

    def __init__(self, root: Path, lab: Lab, port: int) -> None:
        self.spec, self.lab = root / "plugged.yaml", lab
        self.environment = {**environment(root / "state"), "PULUMI_DEBUG_PROVIDERS": f"kubernetes:{port}"}

    def write(self, value: int) -> None:
        self.spec.write_text(SPEC.format(kubeconfig=self.lab.kubeconfig, value=value), "utf-8")

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "mlcluster", arguments[0], str(self.spec), *arguments[1:]]
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
            start_new_session=True,
        )

    def run(self, *arguments: str, code: int = 0) -> str:
        process = self.start(*arguments)
        out, err = process.communicate()
        assert process.returncode == code, out + err
        return out + err


@pytest.fixture
def world(kueue_lab: Lab) -> Iterator[OfficialWorld]:
    with Kube.from_kubeconfig(kueue_lab.kubeconfig) as kube:
        yield OfficialWorld(kube)


@pytest.fixture
def desk(kueue_lab: Lab, world: OfficialWorld, tmp_path: Path) -> Iterator[Desk]:
    with serve_official(world) as port:
        yield Desk(tmp_path, kueue_lab, port)


def test_ctrl_c_change_and_down_with_the_official_providers_behavior(desk: Desk, world: OfficialWorld) -> None:
    """Ctrl-C orphans objects that `up` continues; an immutable field replaces; another object of the name stays."""
    desk.write(100)
    world.gate.close(after=3)
    running = desk.start("up", "--yes")
    wait_for("creates that wait for an answer", lambda: world.gate.held or running.poll() is not None)
    os.kill(running.pid, signal.SIGINT)
    told = "".join(running.communicate())
    assert running.returncode == 130, told
    assert "join it" in desk.run("up", "--yes")
    desk.write(200)
    desk.run("up", "--yes")
    tier = world.kube.get_object("scheduling.k8s.io/v1", "PriorityClass", "plugged-tier")
    assert tier is not None
    assert tier["value"] == 200
    world.kube.delete("scheduling.k8s.io/v1", "PriorityClass", "plugged-tier")
    bare = {key: tier[key] for key in ("apiVersion", "kind", "value")} | {"metadata": {"name": "plugged-tier"}}
    world.kube.create(bare, field_manager="kubectl-create")
    refusal = desk.run("up", "--yes", code=1)
    assert "PriorityClass plugged-tier, managed by the field manager kubectl-create" in refusal
    assert "Left alone: PriorityClass plugged-tier" in desk.run("down", "--yes")
    left = world.kube.get_object("scheduling.k8s.io/v1", "PriorityClass", "plugged-tier")
    assert left is not None
    assert "labels" not in left["metadata"]
    world.kube.delete("scheduling.k8s.io/v1", "PriorityClass", "plugged-tier")
