"""examples/lab-components.yaml on a real control plane: objects of components, and the placement of their pods.

Kubelets are simulated, so no container runs; which nodes a pod is let onto, and whether there is room, is real.
"""

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mlcluster.kube.client import Kube
from mlcluster.plan import build, names
from mlcluster.plan.components.simulated import SIMULATED
from mlcluster.plan.model import Plan
from mlcluster.spec.load import load
from tests.lab.workloads import environment
from tests.waiting import wait_for

pytestmark = pytest.mark.lab
EXAMPLE = Path(__file__).parents[2] / "examples" / "lab-components.yaml"


@dataclass(frozen=True)
class Orbit:
    """The running cluster, its plan, and the command line."""

    kube: Kube
    plan: Plan
    state: Path

    def run(self, *arguments: str) -> str:
        return run(self.state, *arguments)

    def nodes_of(self, pool: str) -> set[str]:
        """Return names of a pool's nodes."""
        found = self.kube.list("v1", "Node", label_selector=f"{names.POOL}={pool}")
        return {node["metadata"]["name"] for node in found}


def run(state: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "mlcluster", *arguments],
        check=False, capture_output=True, text=True, env=environment(state), stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def orbit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Orbit]:
    """Yield the cluster; at the end `down`, and the lab that `up` started is gone."""
    state = tmp_path_factory.mktemp("state")
    run(state, "up", str(EXAMPLE), "--yes")
    kubeconfig = state / "labs" / "orbit" / "admin.kubeconfig"
    try:
        with Kube.from_kubeconfig(kubeconfig) as kube:
            yield Orbit(kube, build(load(EXAMPLE).spec), state)
    finally:
        run(state, "down", str(EXAMPLE), "--yes")
        assert not kubeconfig.parent.exists(), "down left the lab that up had started"


def owner_of(pod: dict[str, Any]) -> str:
    """Return namespace/name of the daemon set or replica set of a pod."""
    (owner,) = pod["metadata"]["ownerReferences"]
    return f"{pod['metadata']['namespace']}/{owner['name']}"


def test_daemon_sets_reach_every_pool_that_they_serve_and_no_other(orbit: Orbit) -> None:
    served: dict[str, set[str]] = defaultdict(set)
    ids = {entry.id for entry in orbit.plan.objects}
    nodes = {node.inputs["metadata"]["name"] for node in orbit.plan.resources}
    for shape in orbit.plan.pods:
        if shape.kind != "DaemonSet":
            continue
        pool = shape.pool
        plain = f"{shape.namespace}/{shape.workload}"
        key = f"{plain}-{pool}" if f"DaemonSet/{plain}-{pool}" in ids else plain
        served[key] |= orbit.nodes_of(pool) if pool else nodes
    assert len(served) >= 15

    def placed() -> dict[str, set[str]]:
        found: dict[str, set[str]] = defaultdict(set)
        for pod in orbit.kube.list("v1", "Pod"):
            if pod["metadata"]["ownerReferences"][0]["kind"] == "DaemonSet":
                found[owner_of(pod)].add(pod["spec"].get("nodeName", ""))
        return {key: nodes for key, nodes in found.items() if key in served}

    wait_for("every daemon set is where it belongs", lambda: placed() == served)


def test_every_pod_of_a_component_runs(orbit: Orbit) -> None:
    def waiting() -> list[str]:
        pods = orbit.kube.list("v1", "Pod")
        return [owner_of(pod) for pod in pods if pod["status"].get("phase") != "Running"]

    wait_for("nothing is pending", lambda: waiting() == [])


def test_simulated_workloads_are_labeled_as_simulated(orbit: Orbit) -> None:
    simulated = {release.namespace for release in orbit.plan.releases if release.realisation == "simulated"}
    for kind in ("DaemonSet", "Deployment"):
        for found in orbit.kube.list("apps/v1", kind):
            if found["metadata"]["namespace"] in simulated - {"kube-system"}:
                pods = found["spec"]["template"]["metadata"]
                assert found["metadata"]["annotations"][SIMULATED] == pods["annotations"][SIMULATED] == "true"


def test_every_object_of_the_plan_exists(orbit: Orbit) -> None:
    for entry in orbit.plan.objects:
        metadata = entry.manifest["metadata"]
        found = orbit.kube.get_object(
            entry.manifest["apiVersion"], entry.manifest["kind"], metadata["name"], metadata.get("namespace", "")
        )
        assert found is not None, entry.id


def test_a_second_up_changes_nothing(orbit: Orbit) -> None:
    events = [json.loads(line) for line in orbit.run("up", str(EXAMPLE), "--yes", "-o", "jsonl").splitlines()]
    assert events[-1]["kind"] == "UpResult"
    assert events[-1]["changed"] == 0
