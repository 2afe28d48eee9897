"""The `existing` target on the kubeconfig of a lab: a foreign cluster with nodes and an installed Kueue."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mlcluster.kube.client import Kube
from mlcluster.lab.keys import has_whole_namespaces, lasting
from mlcluster.lab.lab import Lab
from tests.lab.workloads import Tenant, environment, job, pod_spec
from tests.waiting import wait_for

pytestmark = pytest.mark.lab
SPEC = """\
apiVersion: mlcluster/v1alpha1
kind: Cluster
metadata: {{name: shared}}
target: {{kind: existing, kubeconfig: {kubeconfig}}}
components: {{kueue: {{install: false}}}}
nodePools:
  - name: cpu
    nodeShape: {{cpu: "16", memory: 64Gi}}
    maxSize: 2
    selector: {{role: cpu}}
  - name: h100
    nodeShape: {{cpu: "192", memory: 2048Gi, gpu: {{model: h100, count: 8, memoryMib: 81920}}}}
    maxSize: 2
    selector: {{role: gpu}}
    taints:
      - {{key: nvidia.com/gpu, value: present, effect: NoSchedule}}
      - {{key: example.test/dedicated, value: ml, effect: PreferNoSchedule}}
    labels: {{ml-purpose: training}}
    applyToNodes: {{labels: true, taints: true}}
teams:
  - name: vision
    guarantee: {{h100: {{nodes: {nodes}}}, cpu: {{nodes: 1}}}}
    members: {{edit: {{groups: [ml-vision]}}}}
"""


def _node(name: str, role: str, **devices: str) -> dict[str, Any]:
    taints = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}] if devices else []
    amounts = {"cpu": "192", "memory": "2Ti", "pods": "110", "ephemeral-storage": "50Gi", **devices}
    labels = {"type": "kwok", "role": role, "kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints} if taints else {},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def _narrowed_by_hand(kube: Kube, run: Callable[..., str]) -> None:
    """A policy for all pods that another manager limits to some: every verb sees it, and `up` opens it again."""
    policies = kube.list("networking.k8s.io/v1", "NetworkPolicy", "vision")
    policy = next(one for one in policies if one["spec"]["podSelector"] == {})
    narrowed = {"spec": {"podSelector": {"matchLabels": {"app": "web"}}}}
    name, path = policy["metadata"]["name"], "spec.podSelector.matchLabels"
    kube.patch("networking.k8s.io/v1", "NetworkPolicy", name, narrowed, "vision", field_manager="kubectl-edit")
    seen = json.loads(run("status", "-o", "json"))
    assert (seen["state"], [entry["id"] for entry in seen["drifted"]]) == ("drifted", [f"NetworkPolicy/vision/{name}"])
    assert any(found.startswith(path) for found in seen["drifted"][0]["paths"])
    assert path in run("preview")
    run("up", "--yes")
    assert kube.request("GET", kube.path_of(policy))["spec"] == policy["spec"]
    assert json.loads(run("status", "-o", "json"))["drifted"] == []


@pytest.fixture(scope="module")
def foreign(kueue_lab: Lab) -> Iterator[Lab]:
    """Yield a foreign cluster with four nodes and Kueue."""
    nodes = [
        node
        for index in range(2)
        for node in (_node(f"cpu-{index}", "cpu"), _node(f"gpu-{index}", "gpu", **{"nvidia.com/gpu": "8"}))
    ]
    with Kube.from_kubeconfig(kueue_lab.kubeconfig) as kube:
        for node in nodes:
            kube.create(node)
        yield kueue_lab
        for node in nodes:
            kube.delete("v1", "Node", node["metadata"]["name"])


def test_up_work_change_and_down_on_an_existing_cluster(foreign: Lab, lab: Lab, tmp_path: Path) -> None:
    """The whole life, with a kubeconfig that suddenly leads to another cluster in the middle."""
    spec = tmp_path / "shared.yaml"

    def run(*arguments: str, code: int = 0, error: str = "") -> str:
        command = [sys.executable, "-m", "mlcluster", arguments[0], str(spec), *arguments[1:]]
        done = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            env=environment(tmp_path / "state"),
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == code, done.stdout + done.stderr
        assert error in done.stderr
        return done.stdout

    wait_for("the controllers to be done with Kueue's namespace", lambda: has_whole_namespaces(foreign.keys()))
    before = foreign.keys()
    spec.write_text(SPEC.format(kubeconfig=foreign.kubeconfig, nodes=1), "utf-8")
    told = run("preview", "-o", "jsonl").splitlines()
    assert json.loads(told[-1])["nodes"] == [
        "2 nodes get label ml-purpose=training",
        "2 nodes get taint example.test/dedicated=ml:PreferNoSchedule",
    ]
    run("up", "--yes")
    with Kube.from_kubeconfig(foreign.kubeconfig) as kube:
        nodes = {node["metadata"]["name"]: node["metadata"] for node in kube.list("v1", "Node")}
        assert {name for name, node in nodes.items() if "ml-purpose" in node["labels"]} == {"gpu-0", "gpu-1"}
        assert not any("mlcluster.dev" in key for node in nodes.values() for key in node["labels"])
        team = Tenant(kube, "vision")
        team.submit(job("train", "vision", pod_spec(gpus=8), pods=1))
        wait_for("it runs", lambda: team.running("train") == 1)
        assert team.pods_of("train")[0]["spec"]["nodeSelector"] == {"role": "gpu"}
        team.submit(job("more", "vision", pod_spec(gpus=8), pods=1))
        team.assert_waits_because("more", "nvidia.com/gpu")
        spec.write_text(SPEC.format(kubeconfig=foreign.kubeconfig, nodes=2), "utf-8")
        run("up", "--yes")
        wait_for("the raised quota lets it in", lambda: team.running("more") == 1)
        spec.write_text(SPEC.format(kubeconfig=lab.kubeconfig, nodes=2), "utf-8")
        for verb in (["preview"], ["up", "--yes"], ["down", "--yes"]):
            run(*verb, code=1, error="it belongs to the cluster with UID")
        spec.write_text(SPEC.format(kubeconfig=foreign.kubeconfig, nodes=2), "utf-8")
        document = json.loads(run("status", "-o", "json"))
        assert [entry["ready"] for entry in document["teams"]] == [True]
        _narrowed_by_hand(kube, run)
        run("down", "--yes")
        left = {node["metadata"]["name"]: node for node in kube.list("v1", "Node")}
        assert set(left) == set(nodes)
        assert not any("ml-purpose" in node["metadata"]["labels"] for node in left.values())
        assert [taint["key"] for taint in left["gpu-0"]["spec"]["taints"]] == ["nvidia.com/gpu"]
    assert lasting(foreign.keys()) - lasting(before) == set()
    assert not (tmp_path / "state" / "stacks" / "shared").exists()
