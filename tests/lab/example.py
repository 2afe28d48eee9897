"""The cluster of examples/lab.yaml, created and deleted through the command line."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlcluster.kube.client import Kube
from tests.lab.workloads import Tenant, environment

EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True)
class Cluster:
    """A running cluster and the command line that made it."""

    kube: Kube
    spec: Path
    environment: dict[str, str]
    kubeconfig: Path

    @property
    def state(self) -> Path:
        """Return the state directory of this cluster."""
        return self.spec.parent

    def run(self, *arguments: str, ok: bool = True) -> subprocess.CompletedProcess[str]:
        """Run `mlcluster`; fails the test when it fails and `ok` is set."""
        return _run(self.environment, *arguments, ok=ok)

    def team(self, name: str) -> Tenant:
        """Return a team's namespace."""
        return Tenant(self.kube, name)


@contextmanager
def example_cluster(state: Path) -> Iterator[Cluster]:
    """Create the example on a lab of its own and delete it at the end, without leftovers."""
    spec = state / "lab.yaml"
    spec.write_text((EXAMPLES / "lab.yaml").read_text("utf-8"), "utf-8")
    surroundings = environment(state)
    kubeconfig = state / "labs" / "lab" / "admin.kubeconfig"
    planned = _result(surroundings, "preview", str(spec))["planned"]
    assert _result(surroundings, "up", str(spec), "--yes")["changed"] == planned
    try:
        with Kube.from_kubeconfig(kubeconfig) as kube:
            yield Cluster(kube, spec, surroundings, kubeconfig)
    finally:
        ended = _result(surroundings, "down", str(spec), "--yes")
        assert ended["left"] == ended["unmanaged"] == [], "down left something behind"
        assert not kubeconfig.parent.exists(), "down left the lab that up had started"


def _result(surroundings: dict[str, str], *arguments: str) -> dict[str, Any]:
    """Return the result of a command: the last of its events."""
    found: dict[str, Any] = json.loads(_run(surroundings, *arguments, "-o", "jsonl").stdout.splitlines()[-1])
    return found


def _run(surroundings: dict[str, str], *arguments: str, ok: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "mlcluster", *arguments],
        check=False, capture_output=True, text=True, env=surroundings, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert not ok or done.returncode == 0, done.stdout + done.stderr
    return done
