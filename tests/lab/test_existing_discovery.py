"""Discovery on a foreign cluster: installations that `up` refuses, adopts or leaves, and `down` leaves unchanged."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mlcluster.kube.client import Kube
from mlcluster.lab.keys import has_whole_namespaces, lasting
from mlcluster.lab.lab import Lab
from tests.fakes.installations import PASSWORD, crd, helm_record, workload
from tests.lab.workloads import environment
from tests.waiting import wait_for

pytestmark = pytest.mark.lab
SPEC = """\
apiVersion: mlcluster/v1alpha1
kind: Cluster
metadata: {{name: guest}}
target: {{kind: existing, kubeconfig: {kubeconfig}}}
components: {components}
nodePools:
  - name: cpu
    nodeShape: {{cpu: "16", memory: 64Gi}}
    maxSize: 2
    selector: {{role: cpu}}
  - name: h100
    nodeShape: {{cpu: "192", memory: 2048Gi, gpu: {{model: h100, count: 8, memoryMib: 81920}}}}
    maxSize: 2
    selector: {{role: gpu}}
    taints: [{{key: nvidia.com/gpu, value: present, effect: NoSchedule}}]
teams:
  - name: vision
    guarantee: {{h100: {{nodes: 1}}, cpu: {{nodes: 1}}}}
{more}
"""
ADOPTING = "{kueue: {install: false}, gpuOperator: {install: false}}"
DEVELOPER = "dev-without-secrets"


@dataclass
class Host:
    """A foreign cluster, and the command line on it."""

    lab: Lab
    kube: Kube
    folder: Path

    @property
    def spec(self) -> Path:
        """Return the file that `write` writes."""
        return self.folder / "guest.yaml"

    def write(self, components: str, kubeconfig: Path | None = None, more: str = "") -> None:
        """Write the spec with these components."""
        filled = SPEC.format(kubeconfig=kubeconfig or self.lab.kubeconfig, components=components, more=more)
        self.spec.write_text(filled, "utf-8")

    def run(self, verb: str, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Return one command on the spec."""
        done = subprocess.run(
            [sys.executable, "-m", "mlcluster", verb, str(self.spec), *arguments],
            check=False,
            capture_output=True,
            text=True,
            env=environment(self.folder / "state"),
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def decisions(self, code: int = 0) -> dict[str, str]:
        """Return the decisions of `plan --live` by component."""
        document = json.loads(self.run("plan", "--live", "-o", "json", code=code).stdout)
        return {row["component"]: row["decision"] for row in document["live"]["components"]}


@pytest.fixture(scope="module")
def crowded(kueue_lab: Lab) -> Iterator[Lab]:
    """Yield a cluster with Kueue, KEDA, a GPU operator by Helm with a device plugin, and an ingress controller."""
    with Kube.from_kubeconfig(kueue_lab.kubeconfig) as kube:
        for namespace in ("ops", "web"):
            kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        kube.create(helm_record("gpu", "ops", "gpu-operator", "v25.10.1"))
        kube.create(helm_record("web", "web", "ingress-nginx", "4.13.0"))
        kube.create(helm_record("scaler", "web", "keda", "2.19.0"))
        kube.create(crd("clusterpolicies.nvidia.com", "ClusterPolicy"))
        image = "nvcr.io/nvidia/gpu-operator:v25.10.1"
        kube.create(workload("Deployment", "gpu-operator", "ops", image, release="ops/gpu"))
        plugin = "nvcr.io/nvidia/k8s-device-plugin:v0.18.0"
        kube.create(workload("DaemonSet", "nvidia-device-plugin-daemonset", "ops", plugin, release="ops/gpu"))
        kube.create(workload("DaemonSet", "ingress", "web", "registry.k8s.io/ingress-nginx/controller:v1.13.0"))
        wait_for("the controllers to be done with what was made", lambda: _is_settled(kueue_lab.keys()))
        yield kueue_lab
        kube.delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", "clusterpolicies.nvidia.com")
        for namespace in ("ops", "web"):
            kube.delete("v1", "Namespace", namespace)


def _is_settled(keys: frozenset[str]) -> bool:
    """Namespaces are whole, the Deployment has its replica set, each DaemonSet its revision."""
    made = Counter(key.split("/")[2] for key in keys if key.split("/")[3] in {"ops", "web"})
    return has_whole_namespaces(keys) and (made["replicasets"], made["controllerrevisions"]) == (1, 2)


@pytest.fixture
def host(crowded: Lab, tmp_path: Path) -> Any:
    """Yield the crowded cluster, and a state of this test's own."""
    with Kube.from_kubeconfig(crowded.kubeconfig) as kube:
        yield Host(crowded, kube, tmp_path)


def test_up_stops_at_installed_components_until_they_are_adopted_and_leaves_them_unchanged(host: Host) -> None:
    """A second GPU operator is refused with its owner's name; adopted, `up` and `down` leave everything as it was."""
    before = lasting(host.lab.keys())
    host.write("{kueue: {install: false}, gpuOperator: {}}")
    for verb in (["preview"], ["up", "--yes"]):
        refused = host.run(*verb, code=1)
        assert "EXI001" in refused.stderr
        assert "created by Helm release ops/gpu" in refused.stderr
        assert "components.gpuOperator.install: false" in refused.stderr
    assert host.decisions(code=4)["gpu-operator"] == "refuse"
    assert lasting(host.lab.keys()) == before

    host.write(ADOPTING)
    assert host.decisions() == {
        **dict.fromkeys(("gpu-operator", "nvidia-device-plugin", "kueue"), "adopt"),
        "keda": "leave",
    }
    shown = host.run("preview").stdout
    assert "Helm release ops/gpu" in shown
    assert "v25.10.1" in shown
    assert "ingress" not in shown
    host.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "vision"}})
    assert "EXI007: the namespace vision already exists" in host.run("up", "--yes", code=1).stderr
    host.kube.delete("v1", "Namespace", "vision")
    wait_for("the namespace to go", lambda: host.kube.get_object("v1", "Namespace", "vision") is None)
    host.run("up", "--yes")
    host.run("up", "--yes")
    assert host.kube.get_object("v1", "Namespace", "vision") is not None
    host.run("down", "--yes")
    assert lasting(host.lab.keys()) == before


def test_the_values_of_releases_are_never_shown(host: Host) -> None:
    host.write(ADOPTING)
    streamed = host.run("preview", "-o", "jsonl")
    for done in (host.run("plan", "--live"), host.run("plan", "--live", "-o", "json"), streamed):
        assert PASSWORD not in done.stdout + done.stderr
    events = [json.loads(line) for line in streamed.stdout.splitlines()]
    (told,) = [event for event in events if event["kind"] == "Installed"]
    assert {row["component"] for row in told["components"]} == {
        "gpu-operator", "nvidia-device-plugin", "kueue", "keda",
    }  # fmt: skip


def test_kinds_that_the_user_may_not_list_are_reported_and_do_not_count_as_absent(host: Host) -> None:
    """A service account that may list definitions, and neither secrets nor workloads."""
    group = "rbac.authorization.k8s.io"
    rules = [{"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["list"]}]
    role = {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"name": DEVELOPER}}
    reference = {"apiGroup": group, "kind": "ClusterRole", "name": DEVELOPER}
    account = {"kind": "ServiceAccount", "name": DEVELOPER, "namespace": "web"}
    binding = {**role, "kind": "ClusterRoleBinding", "roleRef": reference, "subjects": [account]}
    metadata = {"name": DEVELOPER, "namespace": "web"}
    host.kube.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    host.kube.create({**role, "rules": rules})
    host.kube.create(binding)
    try:
        host.write(ADOPTING, _kubeconfig_of(host, "web", DEVELOPER))
        done = host.run("plan", "--live")
        for what in ("Helm's release records", "deployments", "daemon sets", "webhook configurations", "API services"):
            assert f"could not look at {what}" in done.stdout
        assert "could not look at custom resource definitions" not in done.stdout
        assert "EXI005" in done.stdout
        assert "EXI004" not in done.stdout
    finally:
        for kind in ("ClusterRoleBinding", "ClusterRole"):
            host.kube.delete(f"{group}/v1", kind, DEVELOPER)
        host.kube.delete("v1", "ServiceAccount", DEVELOPER, "web")


def _kubeconfig_of(host: Host, namespace: str, account: str) -> Path:
    """Return a kubeconfig with a token of a service account."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    token = host.kube.request("POST", path, request)["status"]["token"]
    config = json.loads(host.kube.kubeconfig_text())
    config["users"][0]["user"] = {"token": token}
    made = host.folder / "kubeconfig.json"
    made.write_text(json.dumps(config), "utf-8")
    return made


def test_a_blocked_upgrade_stops_before_the_engine_does_anything(host: Host) -> None:
    """The state has Kueue 0.15.4; the spec has 0.20.5."""
    before = lasting(host.lab.keys())
    host.write(ADOPTING)
    host.run("up", "--yes")
    try:
        _deploy_on_paper(host.folder / "state", "kueue-system", "kueue", "0.15.4")
        allowed = 'allow: [{id: EXI001, reason: "the Kueue of this test is a process"}]'
        host.write('{kueue: {version: "0.20.5"}, gpuOperator: {install: false}}', more=allowed)
        for verb in (["preview"], ["up", "--yes"]):
            refused = host.run(*verb, code=1)
            assert "UPG001: Kueue 0.15.4 -> 0.20.5 is blocked" in refused.stderr
            assert "1. go to the last 0.19 first" in refused.stdout
        live = json.loads(host.run("plan", "--live", "-o", "json", code=4).stdout)["live"]
        assert [(entry["from"], entry["to"], entry["class"]) for entry in live["upgrades"]] == [
            ("0.15.4", "0.20.5", "blocked")
        ]
    finally:
        _deploy_on_paper(host.folder / "state", "kueue-system", "kueue", "")
        host.write(ADOPTING)
        host.run("down", "--yes")
    assert lasting(host.lab.keys()) == before


def _deploy_on_paper(state: Path, namespace: str, name: str, version: str) -> None:
    """Write a release into the platform's state, or takes it out again where the version is ""."""
    (path,) = [
        found for found in state.rglob("*.json") if found.parent.name == "mlcluster-platform" and found.stem == "guest"
    ]
    checkpoint = json.loads(path.read_text("utf-8"))
    resources = checkpoint["checkpoint"]["latest"]["resources"]
    urn = f"urn:pulumi:guest::mlcluster-platform::kubernetes:helm.sh/v3:Release::Release/{name}"
    kept = [item for item in resources if item["urn"] != urn]
    inputs = {"chart": f"oci://example.test/{name}", "name": name, "namespace": namespace, "version": version}
    made = {"urn": urn, "custom": True, "id": f"{namespace}/{name}", "type": "kubernetes:helm.sh/v3:Release"}
    checkpoint["checkpoint"]["latest"]["resources"] = [*kept, *([{**made, "inputs": inputs}] if version else [])]
    path.write_text(json.dumps(checkpoint), "utf-8")
