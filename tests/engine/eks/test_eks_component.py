"""The simulated eks component has the limits of the real one (sources in tests/fakes/eks_provider.py)."""

import json
from pathlib import Path
from typing import Any

import pytest

from mlcluster.errors import MlclusterError
from tests.fakes.aws_cli import AwsCli
from tests.fakes.cloud import Cloud
from tests.fakes.cloud_stack import CLUSTER, Running, cloud_engine, cloud_plan
from tests.fakes.eks_provider import serve_eks

pytestmark = pytest.mark.engine
GET_TOKEN = ["--region", "us-west-2", "eks", "get-token", "--cluster-name", "atlas", "--output", "json"]


def _provider(running: Running) -> dict[str, Any]:
    """Return the Kubernetes provider in the state."""
    resources = running.engine_of(cloud_plan())._console.deployment()["resources"]
    (found,) = [item for item in resources if item["type"] == "pulumi:providers:kubernetes"]
    return dict(found)


def test_the_exported_kubeconfig_has_a_region_and_no_profile(running: Running) -> None:
    outputs = running.engine_of(cloud_plan()).outputs()
    config = json.loads(outputs["kubeconfig"])
    (cluster,), (user,) = config["clusters"], config["users"]
    assert set(cluster["cluster"]) == {"server", "certificate-authority-data"}
    assert user["user"]["exec"]["args"] == GET_TOKEN
    assert [entry["name"] for entry in user["user"]["exec"]["env"]] == ["KUBERNETES_EXEC_INFO"]


def test_it_registers_a_kubernetes_provider_of_its_own_version(running: Running) -> None:
    assert _provider(running)["inputs"]["version"] == "4.19.0"
    assert "aws:index/getPartition:getPartition" in running.cloud.asked


def test_tags_of_the_cluster_and_rights_of_its_creator(running: Running) -> None:
    plane = running.cloud.one("Cluster/atlas-eksCluster").inputs
    assert plane["accessConfig"]["bootstrapClusterCreatorAdminPermissions"] is True
    assert plane["tags"]["Name"] == "shown-in-the-console"


def test_its_own_provider_gets_the_profile(
    pulumi: Path, aws_port: int, eks_port: int, kubernetes_port: int, tmp_path: Path
) -> None:
    attach = {"aws": aws_port, "eks": eks_port, "kubernetes": kubernetes_port}
    plan = cloud_plan().with_inputs(CLUSTER, providerCredentialOpts={"profileName": "team-a"})
    engine = cloud_engine(tmp_path / "atlas", attach, plan, pulumi)
    engine.up()
    resources = engine._console.deployment()["resources"]
    (found,) = [item for item in resources if item["type"] == "pulumi:providers:kubernetes"]
    (user,) = json.loads(found["inputs"]["kubeconfig"])["users"]
    assert user["user"]["exec"]["args"] == [*GET_TOKEN, "--profile", "team-a"]
    assert "team-a" not in engine.outputs()["kubeconfig"]


def test_it_needs_a_kubernetes_plugin(pulumi: Path, aws_port: int, eks_port: int, tmp_path: Path) -> None:
    engine = cloud_engine(tmp_path / "atlas", {"aws": aws_port, "eks": eks_port}, cloud_plan(), pulumi)
    with pytest.raises(MlclusterError) as caught:
        engine.preview()
    assert "kubernetes" in f"{caught.value} {caught.value.hint}"
    assert "4.19.0" in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize(("version", "said"), [("", "Could not find aws CLI"), ("2.6.4", "At least v2.7.0 of aws-cli")])
def test_it_needs_the_aws_cli_in_a_preview(
    version: str, said: str, pulumi: Path, aws_port: int, kubernetes_port: int, cloud: Cloud, tmp_path: Path
) -> None:
    folder = tmp_path / "bin"
    if version:
        AwsCli(folder, version=version)
    with serve_eks(cli=folder) as eks:
        attach = {"aws": aws_port, "eks": eks, "kubernetes": kubernetes_port}
        with pytest.raises(MlclusterError, match=said):
            cloud_engine(tmp_path / "atlas", attach, cloud_plan(), pulumi).preview()
    assert not cloud.things
