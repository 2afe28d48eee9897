"""The Cluster Autoscaler on EKS: its release, its rights, its pod."""

from typing import Any

import pytest

from mlcluster.catalog.eks import eks_version
from mlcluster.plan.eks.cluster_autoscaler import (
    REQUESTS,
    cluster_autoscaler_pods,
    cluster_autoscaler_releases,
    cluster_autoscaler_resources,
    cluster_autoscaler_statements,
)
from mlcluster.plan.model import Manifest
from mlcluster.plan.taints import toleration_manifests
from tests.eks_contexts import by_id, eks_context
from tests.specs import SYSTEM, TRAIN, Data
from tests.upstream import REFERENCE, chart_values, missing_values, needs_reference

pytestmark = pytest.mark.unit

BLOCK: Data = {**TRAIN, "capacity": {"type": "capacityBlock", "reservationId": "cr-0abc"}}


def values(*pools: Data, **target: Any) -> Manifest:
    (release,) = cluster_autoscaler_releases(eks_context(*pools, **target))
    return release.values


@pytest.mark.parametrize("minor", ["1.33", "1.34", "1.35"])
def test_the_image_is_of_the_clusters_own_minor(minor: str) -> None:
    pins = eks_version(minor)
    assert pins is not None
    assert values(kubernetesVersion=minor)["image"] == {"tag": pins.cluster_autoscaler}
    assert pins.cluster_autoscaler.startswith(f"v{minor}.")


def test_the_autoscaler_finds_its_groups_by_their_tags() -> None:
    found = values()
    assert found["autoDiscovery"] == {
        "clusterName": "atlas",
        "tags": ["k8s.io/cluster-autoscaler/enabled", "k8s.io/cluster-autoscaler/atlas"],
    }
    assert (found["awsRegion"], found["cloudProvider"]) == ("us-west-2", "aws")
    assert found["rbac"]["serviceAccount"]["name"] == "cluster-autoscaler"


@pytest.mark.parametrize(("pool", "patience"), [(TRAIN, "15m"), (BLOCK, "45m")])
def test_a_capacity_block_has_a_longer_provisioning_time(pool: Data, patience: str) -> None:
    assert values(SYSTEM, pool)["extraArgs"]["max-node-provision-time"] == patience


def test_every_startup_taint_is_listed_once() -> None:
    def tainted(name: str, *keys: str) -> Data:
        return {**SYSTEM, "name": name, "startupTaints": [{"key": key, "effect": "NoSchedule"} for key in keys]}

    arguments = values(tainted("a", "x/one", "x/two"), tainted("b", "x/two"))["extraArgs"]
    assert {key: value for key, value in arguments.items() if key.startswith("startup-taint")} == {
        "startup-taint_0": "x/one",
        "startup-taint_1": "x/two",
    }


def test_the_release_waits_for_no_crd_that_is_not_installed() -> None:
    assert "enable-provisioning-requests" not in values()["extraArgs"]


def test_it_may_scale_only_the_clusters_own_groups() -> None:
    look, scale, node_groups = cluster_autoscaler_statements(eks_context(accountId="111122223333"))
    assert scale["Condition"]["StringEquals"] == {
        "aws:ResourceTag/k8s.io/cluster-autoscaler/enabled": "true",
        "aws:ResourceTag/k8s.io/cluster-autoscaler/atlas": "owned",
    }
    assert scale["Resource"].startswith("arn:aws:autoscaling:us-west-2:111122223333:autoScalingGroup:")
    assert node_groups["Resource"] == "arn:aws:eks:us-west-2:111122223333:nodegroup/atlas/*/*"
    assert all(action.partition(":")[2].startswith("Describe") for action in look["Action"])
    assert look["Condition"] == {"StringEquals": {"aws:RequestedRegion": "us-west-2"}}


def test_the_role_belongs_to_the_service_account_of_the_release() -> None:
    here = eks_context()
    made = by_id(cluster_autoscaler_resources(here))
    (release,) = cluster_autoscaler_releases(here)
    association = made["PodIdentityAssociation/atlas-cluster-autoscaler"]
    assert association.inputs["namespace"] == release.namespace
    assert association.inputs["serviceAccount"] == release.values["rbac"]["serviceAccount"]["name"]


def test_it_runs_where_the_system_pool_is() -> None:
    taint = {"key": "system", "value": "only", "effect": "NoSchedule"}
    (pod,) = cluster_autoscaler_pods(eks_context({**SYSTEM, "minSize": 1, "taints": [taint]}, TRAIN))
    keys = [toleration.key for toleration in pod.tolerations]
    assert keys == ["CriticalAddonsOnly", "system"]
    assert pod.requests == {"cpu": 100, "memory": 600, "pods": 1}
    assert values({**SYSTEM, "minSize": 1, "taints": [taint]}, TRAIN)["tolerations"] == toleration_manifests(
        pod.tolerations
    )
    assert values()["resources"]["requests"] == REQUESTS


@pytest.mark.parametrize("autoscaler", ["karpenter", "none"])
def test_nothing_where_something_else_scales(autoscaler: str) -> None:
    here = eks_context(autoscaler=autoscaler)
    assert cluster_autoscaler_resources(here) == []
    assert cluster_autoscaler_releases(here) == []
    assert cluster_autoscaler_pods(here) == ()


@needs_reference
def test_every_value_exists_in_the_chart() -> None:
    chart = chart_values("cluster-autoscaler")
    ours = values()
    flags = ours.pop("extraArgs")
    assert list(missing_values(ours, chart)) == []
    wrong = {"autoDiscovery": {"clustername": ""}, "x": 1}
    assert list(missing_values(wrong, chart)) == ["autoDiscovery.clustername", "x"]
    text = (REFERENCE / "charts" / "cluster-autoscaler" / "values.yaml").read_text("utf-8")
    assert [flag for flag in flags if f"# {flag}:" not in text] == []
