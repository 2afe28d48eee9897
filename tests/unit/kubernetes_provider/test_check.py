from typing import Any

import pytest

from mlcluster.kubernetes_provider.check import check
from mlcluster.kubernetes_provider.configuration import another_cluster, check_arguments, read_settings
from mlcluster.kubernetes_provider.ownership import belongs_to, describe, ours, owner
from mlcluster.kubernetes_provider.values import UNKNOWN, Secret

pytestmark = pytest.mark.unit

URN = "urn:pulumi:dev::p::kubernetes:core/v1:Secret::My"


def secret(**rest: Any) -> dict[str, Any]:
    found = check("kubernetes:core/v1:Secret", URN, {"metadata": {"name": "s"}, **rest}, {}, b"")
    assert found.problems == []
    return found.inputs


def test_string_data_becomes_secret_data() -> None:
    found = secret(stringData={"a": "x"}, data={"b": "Yg=="})
    assert found["data"] == Secret({"a": "eA==", "b": "Yg=="})
    assert "stringData" not in found
    assert secret(stringData=Secret({"a": "x"}))["data"] == Secret({"a": "eA=="})
    assert secret(stringData={"a": Secret("x")})["data"] == Secret({"a": "eA=="})
    assert secret(data={"b": "Yg=="})["data"] == Secret({"b": "Yg=="})


def test_unknown_text_stays_unknown() -> None:
    assert secret(stringData={"a": UNKNOWN, "b": "x"})["data"] == Secret({"a": UNKNOWN, "b": "eA=="})
    assert secret(stringData=UNKNOWN)["stringData"] == Secret(UNKNOWN)


def test_names_are_generated_once_and_kept() -> None:
    token = "kubernetes:core/v1:ConfigMap"
    first = check(token, URN, {}, {}, b"seed").inputs
    assert first["metadata"]["name"].startswith("my-")
    assert check(token, URN, {}, first, b"another").inputs == first
    assert check(token, URN, {}, {}, b"another").inputs != first
    named = check(token, URN, {"metadata": {"name": "n"}}, first, b"seed").inputs
    assert named["metadata"] == {"name": "n"}


def test_the_kind_comes_from_the_type_and_missing_fields_are_reported() -> None:
    found = check("kubernetes:apps/v1:Deployment", URN, {"metadata": {"name": "n"}}, {}, b"").inputs
    assert (found["apiVersion"], found["kind"]) == ("apps/v1", "Deployment")
    custom = check("kubernetes:apiextensions.k8s.io:CustomResource", URN, {"metadata": {"name": "n"}}, {}, b"")
    assert custom.problems == [("apiVersion", "is missing"), ("kind", "is missing")]
    generated = check("kubernetes:core/v1:Pod", URN, {"metadata": {"generateName": "g-"}}, {}, b"")
    assert [problem[0] for problem in generated.problems] == ["metadata.generateName"]


def test_an_empty_status_and_that_of_a_crd_are_ignored() -> None:
    def kept(kind: str, status: Any) -> bool:
        inputs = {"apiVersion": "x/v1", "kind": kind, "metadata": {"name": "n"}, "status": status}
        return "status" in check("kubernetes:x/v1:Y", URN, inputs, {}, b"").inputs

    assert kept("Node", {"capacity": {}})
    assert not kept("Deployment", {})
    assert not kept("CustomResourceDefinition", {"conditions": [{}]})


def test_patch_resources_are_refused() -> None:
    found = check("kubernetes:core/v1:NodePatch", URN, {"kind": "Node", "metadata": {"name": "n"}}, {}, b"")
    assert "Patch resources" in found.problems[0][1]


def labelled(cluster: str, manager: str = "mlcluster") -> dict[str, Any]:
    labels = {"app.kubernetes.io/managed-by": manager, "mlcluster.dev/cluster": cluster}
    return {"kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ns", "labels": labels}}


@pytest.mark.parametrize(
    ("live", "cluster", "expected"),
    [
        (labelled("atlas"), "atlas", True),
        (labelled("atlas"), "other", False),
        (labelled("atlas", "Helm"), "atlas", False),
        ({"metadata": {"labels": {"app.kubernetes.io/managed-by": "mlcluster"}}}, "", False),
        ({"metadata": {}}, "atlas", False),
        (labelled(""), "", False),
    ],
)
def test_ownership(live: dict[str, Any], cluster: str, expected: bool) -> None:
    assert ours(live, cluster) is expected


def test_owners_are_named() -> None:
    assert belongs_to(labelled("b")) == "mlcluster, cluster 'b'"
    assert belongs_to(labelled("b", "flux")).startswith("'flux'")
    helm = {"metadata": {"annotations": {"meta.helm.sh/release-name": "r", "meta.helm.sh/release-namespace": "n"}}}
    assert belongs_to(helm) == "the Helm release n/r"
    assert belongs_to({"metadata": {"managedFields": [{"manager": "kubectl"}]}}) == "the field manager kubectl"
    assert "no owner label" in belongs_to({"metadata": {}})
    assert describe(labelled("b")) == "ConfigMap ns/a"
    assert owner(labelled("b")) == "b"


def test_a_kubeconfig_text_is_secret_and_missing_features_are_reported() -> None:
    inputs, wrong = check_arguments(
        {"kubeconfig": "a: 1\n", "renderYamlToDirectory": "x", "deleteUnreachable": "false"}
    )
    assert inputs["kubeconfig"] == Secret("a: 1\n")
    assert [name for name, _ in wrong] == ["renderYamlToDirectory"]
    assert check_arguments({"kubeconfig": "/a/path"})[0]["kubeconfig"] == "/a/path"


def server(address: str) -> str:
    context = '"contexts": [{"name": "c", "context": {"cluster": "c"}}], "current-context": "c"'
    return f'{{{context}, "clusters": [{{"name": "c", "cluster": {{"server": "{address}"}}}}]}}'


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"kubeconfig": server("https://a")}, {"kubeconfig": server("https://a") + " "}, []),
        ({"kubeconfig": server("https://a")}, {"kubeconfig": server("https://b")}, ["kubeconfig"]),
        ({"kubeconfig": server("https://a")}, {"kubeconfig": UNKNOWN}, []),
        ({"clusterIdentifier": "a", "kubeconfig": server("https://a")}, {"clusterIdentifier": "a"}, []),
        ({"clusterIdentifier": "a"}, {"clusterIdentifier": "b"}, ["clusterIdentifier"]),
        ({}, {"clusterIdentifier": "b"}, []),
    ],
)
def test_changes_that_mean_another_cluster(old: dict[str, Any], new: dict[str, Any], expected: list[str]) -> None:
    assert another_cluster(old, new) == expected


def test_settings_without_a_reachable_server() -> None:
    assert read_settings({"kubeconfig": UNKNOWN}).blind
    settings = read_settings({"kubeconfig": Secret("/a"), "namespace": "n", "clusterIdentifier": "c", "context": ""})
    assert (settings.kubeconfig, settings.namespace, settings.context, settings.blind) == ("/a", "n", None, "")
