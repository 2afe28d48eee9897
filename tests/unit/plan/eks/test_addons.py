"""Add-ons of eks: pins, order, rights, and pods that find a node."""

from dataclasses import replace
from typing import Any

import pytest

from mlcluster.catalog.eks import eks_version, eks_versions
from mlcluster.plan.eks.addon_settings import system_pool, system_tolerations
from mlcluster.plan.eks.addons import addon_pods, addon_resources, node_prerequisites
from mlcluster.plan.eks.identity import role_arn
from mlcluster.plan.eks.network import egress_dependencies
from mlcluster.plan.model import PlanResource, Toleration
from mlcluster.plan.taints import CRITICAL as CRITICAL_ADDONS
from mlcluster.plan.values import printable
from mlcluster.rules.placement import component_pods_schedule
from tests.eks_contexts import by_id, eks_context
from tests.specs import SYSTEM, TRAIN, Data, planned

pytestmark = pytest.mark.unit

NODE_GROUPS = ("NodeGroup/system", "NodeGroup/train")
SHARED = {"storage": {"volumes": [{"name": "d", "kind": "efs"}, {"name": "s", "kind": "fsxLustre"}]}}
CRITICAL = {"key": "CriticalAddonsOnly", "value": "true", "effect": "NoSchedule"}
DEDICATED = {"key": "dedicated", "value": "system", "effect": "NoSchedule"}
ALWAYS = {"vpc-cni", "kube-proxy", "eks-pod-identity-agent", "coredns", "aws-ebs-csi-driver"}


def addons(*pools: Data, **rest: Any) -> dict[str, PlanResource]:
    """Return the add-ons by name, without their roles."""
    made = by_id(addon_resources(eks_context(*pools, **rest), NODE_GROUPS))
    return {name.partition("/")[2]: entry for name, entry in made.items() if name.startswith("Addon/")}


def settings(entry: PlanResource) -> Any:
    """Return the configuration, {} for the add-on's own."""
    return printable(entry.inputs.get("configurationValues", {})).get("$json", {})


def test_only_needed_addons_are_planned() -> None:
    assert set(addons()) == ALWAYS
    assert set(addons(rest=SHARED)) == ALWAYS | {"aws-efs-csi-driver", "aws-fsx-csi-driver"}


@pytest.mark.parametrize("minor", eks_versions())
def test_every_version_of_the_catalog_pins_every_addon(minor: str) -> None:
    pins = eks_version(minor)
    assert pins is not None
    for name, entry in addons(rest=SHARED, kubernetesVersion=minor).items():
        assert entry.inputs["addonVersion"] == pins.addons[name]
        assert entry.inputs["resolveConflictsOnCreate"] == entry.inputs["resolveConflictsOnUpdate"] == "OVERWRITE"
        assert entry.inputs["clusterName"] == "atlas"


def test_a_version_without_pins_is_not_guessed() -> None:
    with pytest.raises(KeyError, match=r"Kubernetes 1\.20"):
        addons(kubernetesVersion="1.20")


def test_nodes_need_some_and_the_others_need_nodes() -> None:
    context, made = eks_context(), addons()
    assert node_prerequisites() == ("Addon/vpc-cni", "Addon/kube-proxy", "Addon/eks-pod-identity-agent")
    for name, entry in made.items():
        before_nodes = entry.id in node_prerequisites()
        assert "Cluster/atlas" in entry.needs
        assert set(NODE_GROUPS) <= set(entry.needs) or before_nodes, name
        assert set(egress_dependencies(context)) <= set(entry.needs) or not before_nodes, name
        assert not (before_nodes and set(NODE_GROUPS) & set(entry.needs)), name


def test_rights_come_by_pod_identity_and_before_the_addon() -> None:
    context = eks_context(rest=SHARED)
    made = by_id(addon_resources(context, NODE_GROUPS))
    accounts = {
        "vpc-cni": "aws-node",
        "aws-ebs-csi-driver": "ebs-csi-controller-sa",
        "aws-efs-csi-driver": "efs-csi-controller-sa",
        "aws-fsx-csi-driver": "fsx-csi-controller-sa",
    }
    for name, account in accounts.items():
        entry = made[f"Addon/{name}"]
        assert entry.inputs["podIdentityAssociations"] == [
            {"roleArn": role_arn(context, name), "serviceAccount": account}
        ]
        rights = [one for one in made if one.startswith(("RolePolicyAttachment/", "RolePolicy/")) and name in one]
        assert rights
        assert set(rights) <= set(entry.needs)
    assert not any("serviceAccountRoleArn" in entry.inputs for entry in made.values())
    for name in ("kube-proxy", "eks-pod-identity-agent", "coredns"):
        assert "podIdentityAssociations" not in made[f"Addon/{name}"].inputs


def test_the_cni_gives_out_prefixes_and_enforces_policies() -> None:
    found = settings(addons()["vpc-cni"])
    assert found["env"] == {"ENABLE_PREFIX_DELEGATION": "true", "WARM_PREFIX_TARGET": "1"}
    assert found["enableNetworkPolicy"] == "true"


def test_an_untainted_system_pool_leaves_the_defaults() -> None:
    made = addons()
    assert settings(made["coredns"]) == {"replicaCount": 2}
    assert settings(made["aws-ebs-csi-driver"]) == {}
    critical_only = addons({**SYSTEM, "minSize": 2, "taints": [CRITICAL]})
    assert settings(critical_only["coredns"]) == {"replicaCount": 2}


def test_a_tainted_system_pool_is_tolerated_by_everything_that_must_run_there() -> None:
    made = addons({**SYSTEM, "minSize": 2, "taints": [DEDICATED]}, TRAIN, rest=SHARED)
    wanted = {"key": "dedicated", "operator": "Equal", "value": "system", "effect": "NoSchedule"}
    assert wanted in settings(made["coredns"])["tolerations"]
    for name in ("aws-ebs-csi-driver", "aws-efs-csi-driver", "aws-fsx-csi-driver"):
        tolerations = settings(made[name])["controller"]["tolerations"]
        assert wanted in tolerations
        assert {"key": "CriticalAddonsOnly", "operator": "Exists"} in tolerations


@pytest.mark.parametrize(
    ("pools", "autoscaler", "chosen"),
    [
        ([TRAIN, SYSTEM], "clusterAutoscaler", "system"),
        ([{**SYSTEM, "name": "burst"}, {**SYSTEM, "minSize": 2}], "clusterAutoscaler", "system"),
        ([TRAIN], "clusterAutoscaler", "train"),
        ([{**SYSTEM, "name": "dynamic"}, {**SYSTEM, "minSize": 2, "maxSize": 2}], "karpenter", "system"),
    ],
)
def test_the_system_pool_is_managed_has_no_accelerator_and_is_never_empty(
    pools: list[Data], autoscaler: str, chosen: str
) -> None:
    assert system_pool(eks_context(*pools, autoscaler=autoscaler)).name == chosen


def test_preferences_need_no_toleration_and_taints_without_value_only_exist() -> None:
    taints = [{"key": "a", "effect": "PreferNoSchedule"}, {"key": "b", "effect": "NoExecute"}]
    context = eks_context({**SYSTEM, "taints": taints})
    assert system_tolerations(context) == (CRITICAL_ADDONS, Toleration("b", "Exists", effect="NoExecute"))


@pytest.mark.parametrize(
    "pools", [[SYSTEM, TRAIN], [TRAIN], [{**SYSTEM, "taints": [DEDICATED]}, TRAIN], [{**SYSTEM, "taints": [CRITICAL]}]]
)
def test_every_pod_finds_a_node(pools: list[Data]) -> None:

    context = eks_context(*pools, rest=SHARED)
    plan = replace(planned(*pools), pools=context.pools, pods=addon_pods(context))
    assert list(component_pods_schedule(plan)) == []


def test_controllers_of_add_ons_have_two_replicas() -> None:
    counts = {pod.owner.id: pod.replicas for pod in addon_pods(eks_context(rest=SHARED)) if pod.kind == "Deployment"}
    drivers = {f"Addon/aws-{name}-csi-driver": 2 for name in ("ebs", "efs", "fsx")}
    assert counts == {"Addon/coredns": 2, **drivers}


def test_requests_of_the_daemon_sets_on_every_node() -> None:
    on_every_node = [pod for pod in addon_pods(eks_context()) if pod.kind == "DaemonSet"]
    assert {pod.owner.id: dict(pod.requests) for pod in on_every_node} == {
        "Addon/vpc-cni": {"cpu": 50, "pods": 1},
        "Addon/kube-proxy": {"cpu": 100, "pods": 1},
        "Addon/eks-pod-identity-agent": {"pods": 1},
        "Addon/aws-ebs-csi-driver": {"cpu": 30, "memory": 120, "pods": 1},
    }
    assert {pod.owner.id for pod in addon_pods(eks_context(rest=SHARED))} == {
        f"Addon/{name}" for name in (*ALWAYS, "aws-efs-csi-driver", "aws-fsx-csi-driver")
    }
    assert all(pod.source and pod.evidence == "declared" for pod in addon_pods(eks_context(rest=SHARED)))
