"""The whole life of an `eks` cluster through the command line, without an account.

AWS is simulated by tests/fakes; the cluster that it returns is a lab with a real API server, scheduler and
Kueue, so everything from the kubeconfig on is real but the charts.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from mlcluster.engine.state import parse_checkpoint, pending_in, resources_in
from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.kube.errors import ApiError
from mlcluster.lab.lab import Lab
from mlcluster.lab.toolchain import Toolchain
from mlcluster.plan import names
from mlcluster.progress import Silent
from tests.fakes.aws_cli import AwsCli
from tests.fakes.aws_provider import serve_aws
from tests.fakes.cloud import Cloud
from tests.fakes.eks_provider import serve_eks
from tests.fakes.platform_provider import calls, serve_platform
from tests.lab.conftest import KUEUE_CONFIG
from tests.lab.workloads import environment
from tests.waiting import wait_for

pytestmark = pytest.mark.lab
EXAMPLES = Path(__file__).parents[2] / "examples"
KARPENTER = [
    ("karpenter.sh", "NodePool", "nodepools"),
    ("karpenter.sh", "NodeClaim", "nodeclaims"),
    ("karpenter.k8s.aws", "EC2NodeClass", "ec2nodeclasses"),
]


@dataclass
class Account:
    """A made-up account, the lab that it calls a cluster, and where mlcluster keeps its state."""

    lab: Lab
    root: Path
    attach: str
    cloud: Cloud
    cli: AwsCli
    journal: Path
    said: str = field(default="")

    def _surroundings(self) -> dict[str, str]:
        own = {
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": str(self.root / "aws-config"),
            "PATH": self.cli.path,
            "PULUMI_DEBUG_PROVIDERS": self.attach,
        }
        return {**environment(self.root / "state"), **own}

    def take_over(self, cluster: str) -> None:
        """Label the namespace of Kueue for the cluster: the lab created it, and the plan would create it."""
        with Kube.from_kubeconfig(self.lab.kubeconfig) as kube:
            labels = {"metadata": {"labels": names.owned(cluster)}}
            kube.patch("v1", "Namespace", "kueue-system", labels, field_manager="test")

    def start(self, *arguments: str) -> "subprocess.Popen[bytes]":
        """Return a running command."""
        command = [sys.executable, "-m", "mlcluster", *arguments]
        return subprocess.Popen(command, env=self._surroundings(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def run(self, *arguments: str, code: int = 0) -> str:
        """Return the standard output of a command; its standard error is in `said`."""
        command = [sys.executable, "-m", "mlcluster", *arguments]
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, env=self._surroundings(), timeout=600
        )
        self.said = done.stderr
        assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
        return done.stdout

    def result(self, *arguments: str, code: int = 0) -> dict[str, Any]:
        """Return the last line of a stream of events."""
        lines = self.run(*arguments, "-o", "jsonl", code=code).splitlines()
        found: dict[str, Any] = json.loads(lines[-1])
        return found


@pytest.fixture
def account(
    make_lab: Callable[..., Lab], toolchain: Toolchain, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Account]:
    """Yield a fresh account; the "cluster" has a Kueue, which the chart would have brought."""
    lab = make_lab(f"eks-{request.node.name[:20].strip('_[')}".replace("_", "-").replace("[", "-").lower())
    lab.start(toolchain, Silent())
    lab.start_kueue(KUEUE_CONFIG, toolchain, Silent())
    cloud, journal = Cloud(), tmp_path / "releases.jsonl"
    cli = AwsCli(tmp_path / "bin", token=administrator(lab))
    (tmp_path / "aws-config").write_text("[profile team-a]\nregion = us-west-2\n", encoding="utf-8")
    with (
        serve_aws(cloud) as aws,
        serve_eks(lab.kubeconfig, cli.folder) as eks,
        serve_platform(journal, path=cli.path) as platform,
    ):
        yield Account(lab, tmp_path, f"aws:{aws},eks:{eks},kubernetes:{platform}", cloud, cli, journal)
    lab.reset(Silent())


def administrator(lab: Lab) -> str:
    """Return a token with every right: whom EKS takes the caller of `aws eks get-token` for."""
    name, namespace = "creator-of-the-cluster", "kube-system"
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    with Kube.from_kubeconfig(lab.kubeconfig) as kube:
        kube.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}})
        kube.create(
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": name},
                "roleRef": role,
                "subjects": [subject],
            }
        )
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 86400}}
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        return str(kube.request("POST", path, body=asked)["status"]["token"])


def written(tmp_path: Path, example: str, change: Callable[[dict[str, Any]], object] = lambda _: None) -> str:
    """Return a copy of an example, changed."""
    data = yaml.safe_load((EXAMPLES / f"{example}.yaml").read_text("utf-8"))
    # The stand-in only writes releases down, so what they bring is in the cluster before them.
    reason = "put there by the test"
    data["allow"] = [
        *data.get("allow", []),
        *({"id": each, "reason": reason} for each in ("EXI001", "EXI006", "EXI007")),
    ]
    change(data)
    path = tmp_path / "cluster.yaml"
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    return str(path)


def test_up_again_change_and_down(account: Account, tmp_path: Path) -> None:
    """The smallest example: two stacks, a kubeconfig between them, and nothing left at the end."""
    account.take_over("sprout")
    spec = written(tmp_path, "eks-minimal", _with_profile)
    first = account.run("preview", spec)
    assert "planned, not previewed: no cluster yet" in first
    assert "skipped the AWS preflight: found no AWS credentials" in account.said
    assert account.cloud.ids() == []

    up = account.result("up", spec, "--yes")
    assert up["cluster"] == "sprout"
    assert Path(up["kubeconfig"]).stat().st_mode & 0o777 == 0o600
    installed = [release for call, release in calls(account.journal) if call == "install"]
    assert {"kueue-system/kueue", "kube-system/cluster-autoscaler"} <= set(installed)
    with Kube.from_kubeconfig(account.lab.kubeconfig) as kube:
        assert kube.get_object("v1", "Namespace", "research") is not None
        assert kube.get_object("storage.k8s.io/v1", "StorageClass", "gp3") is not None
    get_token = ["--region", "us-west-2", "eks", "get-token", "--cluster-name", "sprout", "--output", "json"]
    tokens = [call for call in account.cli.calls if "get-token" in call]
    assert tokens
    assert {tuple(call) for call in tokens} == {(*get_token, "--profile", "team-a")}
    again = account.result("up", spec, "--yes")
    assert again["changed"] == 0

    grown = written(tmp_path, "eks-minimal", lambda data: data["nodePools"][1].update(maxSize=6))
    text = account.run("preview", grown)
    assert "NodeGroup/gpu" in text
    assert account.result("up", grown, "--yes")["changed"] > 0

    smaller = written(tmp_path, "eks-minimal", _without_gpus)
    account.run("up", smaller, "--yes", code=1)
    assert "--allow-destroy pool/gpu" in account.said
    jump = written(tmp_path, "eks-minimal", lambda data: data["target"].update(kubernetesVersion="1.33"))
    account.run("preview", jump, code=1)
    assert "VER001" in account.said

    shown = account.run("down", spec, "--plan")
    assert "kept: Key/sprout-secrets" in account.said
    assert shown == ""
    down = account.result("down", spec, "--yes")
    assert down["left"] == []
    assert account.cloud.ids() == ["Key/sprout-secrets"]
    assert sorted(release for call, release in calls(account.journal) if call == "uninstall") == sorted(installed)
    with Kube.from_kubeconfig(account.lab.kubeconfig) as kube:
        assert kube.get_object("v1", "Namespace", "research") is None


def _with_profile(data: dict[str, Any]) -> None:
    data["target"]["profile"] = "team-a"


def _without_gpus(data: dict[str, Any]) -> None:
    data["nodePools"].pop()
    data["teams"][0]["guarantee"].pop("gpu")


def test_karpenter_objects_pass_a_real_api_server(account: Account, tmp_path: Path) -> None:
    """EC2NodeClasses and Karpenter NodePools with references that AWS has answered, against their CRDs."""
    account.take_over("comet")
    spec = written(tmp_path, "eks-karpenter")
    with Kube.from_kubeconfig(account.lab.kubeconfig) as kube:
        for crd in karpenter_definitions():
            kube.create(crd)
        wait_for("the CRDs", lambda: all(_serves(kube, group, kind) for group, kind, _ in KARPENTER))
        account.run("up", spec, "--yes")
        node_class = kube.get_object("karpenter.k8s.aws/v1", "EC2NodeClass", "train")
        assert node_class is not None
        (subnet,) = node_class["spec"]["subnetSelectorTerms"]
        assert subnet["id"] == account.cloud.one("Subnet/private-us-east-2b").id
        assert {pool["metadata"]["name"] for pool in kube.list("karpenter.sh/v1", "NodePool")} == {
            "cpu",
            "spot",
            "train",
        }
        assert account.result("up", spec, "--yes")["changed"] == 0
        fewer = written(tmp_path, "eks-karpenter", _without_spot)
        account.run("up", fewer, "--yes", code=1)
        assert "--allow-destroy pool/spot" in account.said
        account.run("up", fewer, "--yes", "--allow-destroy", "pool/spot")
        assert _node_pools(kube) == {"cpu", "train"}
        account.run("down", fewer, "--yes")
        assert _node_pools(kube) == set()
    assert account.cloud.ids() == ["Key/comet-secrets"]


def _node_pools(kube: Kube) -> set[str]:
    return {pool["metadata"]["name"] for pool in kube.list("karpenter.sh/v1", "NodePool")}


def _without_spot(data: dict[str, Any]) -> None:
    data["nodePools"] = [pool for pool in data["nodePools"] if pool["name"] != "spot"]
    for team in data["teams"]:
        team["guarantee"].pop("spot", None)
        if isinstance(team["borrow"], dict):
            team["borrow"] = "all"


def karpenter_definitions() -> list[dict[str, Any]]:
    """Karpenter's own CRDs where the reference is at hand, with their CEL rules; else two that take anything."""
    reference = Path(__file__).parents[3] / "shared" / "reference" / "crds" / "karpenter"
    found = [yaml.safe_load(path.read_text("utf-8")) for path in sorted(reference.glob("*.yaml"))]
    real = [one for one in found if one["spec"]["names"]["plural"] in {plural for *_, plural in KARPENTER}]
    return real or [_anything(*one) for one in KARPENTER]


def _anything(group: str, kind: str, plural: str) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    names = {"kind": kind, "plural": plural, "singular": kind.lower()}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": "Cluster", "names": names, "versions": [version]},
    }


def _serves(kube: Kube, group: str, kind: str) -> bool:
    try:
        return kube.list(f"{group}/v1", kind) == []
    except (ApiError, MlclusterError):
        return False


def test_killed_between_cluster_and_node_groups(account: Account, tmp_path: Path) -> None:
    """SIGKILL while AWS creates the node groups: the next `up` or `down` finds the created resources and continues."""
    account.take_over("atlas")
    spec = written(tmp_path, "eks-training")
    account.cloud.slow = frozenset({"aws:eks/nodeGroup:NodeGroup"})
    account.cloud.gate.close(after=0)
    process = account.start("up", spec, "--yes")
    plan = json.loads(account.run("plan", spec, "-o", "json"))["resources"]
    wait_for("a state that waits for the node groups alone", lambda: _waits_for_node_groups(account, plan))
    for child in psutil.Process(process.pid).children(recursive=True):
        child.kill()
    process.kill()
    process.wait()
    account.cloud.gate.open()
    account.run("up", spec, "--yes")
    with Kube.from_kubeconfig(account.lab.kubeconfig) as kube:
        claim = kube.get_object("v1", "PersistentVolumeClaim", "datasets", "pretraining")
        assert claim is not None
        volume = kube.get_object("v1", "PersistentVolume", claim["spec"]["volumeName"])
        assert volume is not None
        file_system = account.cloud.one("FileSystem/datasets").id
        assert volume["spec"]["csi"]["volumeHandle"].startswith(f"{file_system}::")
    assert account.result("up", spec, "--yes")["changed"] == 0
    expected = sorted(entry["id"] for entry in plan if entry["retained"])
    account.run("down", spec, "--yes")
    assert account.cloud.ids() == expected


def _waits_for_node_groups(account: Account, plan: list[dict[str, Any]]) -> bool:
    """Whether the three node groups are the only open operations, and the state holds all that needs none of them.

    AWS chooses the ID of a file system, so one that a kill separates from the state would be created twice.
    """
    groups = {entry["id"] for entry in plan if entry["type"] == "aws:eks/nodeGroup:NodeGroup"}
    later, before = set(groups), set[str]()
    while later != before:
        before, later = later, later | {entry["id"] for entry in plan if later & set(entry["needs"])}
    for path in (account.root / "state").rglob(".pulumi/stacks/mlcluster-eks/*.json"):
        deployment = parse_checkpoint(path.read_text("utf-8")) or {}
        held = {resource.plan_id for resource in resources_in(deployment)}
        waiting = {item.text for item in pending_in(deployment)} == {f"creating {group}" for group in groups}
        return waiting and held >= {entry["id"] for entry in plan} - later
    return False
