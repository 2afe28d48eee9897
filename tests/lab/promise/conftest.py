"""The cluster of examples/lab.yaml, brought up and taken down through the command line, once for all these tests."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mlcluster.kube.client import Kube
from tests.lab.workloads import Tenant, environment


@dataclass(frozen=True)
class Cluster:
    """A running cluster and the command line that made it."""

    kube: Kube
    spec: Path
    environment: dict[str, str]
    kubeconfig: Path

    def run(self, *arguments: str, ok: bool = True) -> subprocess.CompletedProcess[str]:
        """Runs `mlcluster`; fails the test when it fails and `ok` is set."""
        done = subprocess.run(
            [sys.executable, "-m", "mlcluster", *arguments],
            check=False, capture_output=True, text=True, env=self.environment, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert not ok or done.returncode == 0, done.stdout + done.stderr
        return done

    def team(self, name: str) -> Tenant:
        """A team's namespace."""
        return Tenant(self.kube, name)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """examples/lab.yaml on a lab of its own; taken down at the end, and nothing may be left."""
    state = tmp_path_factory.mktemp("state")
    example = Path(__file__).parents[3] / "examples" / "lab.yaml"
    spec = state / "lab.yaml"
    spec.write_text(example.read_text("utf-8"), "utf-8")
    surroundings = environment(state)
    kubeconfig = state / "labs" / "lab" / "admin.kubeconfig"

    def run(*arguments: str) -> dict[str, Any]:
        """The result of a command: the last of its events."""
        done = subprocess.run(
            [sys.executable, "-m", "mlcluster", *arguments, "-o", "jsonl"],
            check=False, capture_output=True, text=True, env=surroundings, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return result

    planned = run("preview", str(spec))["planned"]
    assert run("up", str(spec), "--yes")["changed"] == planned
    try:
        with Kube.from_kubeconfig(kubeconfig) as kube:
            yield Cluster(kube, spec, surroundings, kubeconfig)
    finally:
        ended = run("down", str(spec), "--yes")
        assert ended["left"] == ended["unmanaged"] == [], "down left something behind"
        assert not kubeconfig.parent.exists(), "down left the lab that up had started"


@pytest.fixture
def research(cluster: Cluster) -> Iterator[Tenant]:
    """Team research: 32 GPUs guaranteed, may borrow everything."""
    team = cluster.team("research")
    yield team
    team.clean()


@pytest.fixture
def products(cluster: Cluster) -> Iterator[Tenant]:
    """Team products: 24 GPUs guaranteed, may borrow 16, lends 16."""
    team = cluster.team("products")
    yield team
    team.clean()


@pytest.fixture
def students(cluster: Cluster) -> Iterator[Tenant]:
    """Team students: CPU only, may borrow MIG slices."""
    team = cluster.team("students")
    yield team
    team.clean()
