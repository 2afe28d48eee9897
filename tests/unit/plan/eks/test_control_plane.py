"""The control plane of eks, and the names and types of its resources in the SDK."""

import warnings
from typing import Any

import pytest

from mlcluster.plan.eks.addons import addon_resources
from mlcluster.plan.eks.control_plane import cluster_id, cluster_security_group, control_plane_resources
from mlcluster.plan.eks.identity import ITSELF, node_role_resources, pod_role
from mlcluster.plan.eks.network import network_resources
from mlcluster.plan.values import Ref, printable, resolved
from tests.eks_contexts import OWN_VPC, ZONES, by_id, eks_context

pytestmark = pytest.mark.unit

OWN_KEY = "arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"


def cluster_inputs(**target: Any) -> dict[str, Any]:
    """Return inputs of the cluster."""
    context = eks_context(**target)
    return by_id(control_plane_resources(context))[cluster_id(context)].inputs


def test_the_eks_component_creates_only_the_control_plane() -> None:
    inputs = cluster_inputs(kubernetesVersion="1.34")
    assert inputs["name"] == "atlas"
    assert inputs["version"] == "1.34"
    assert inputs["authenticationMode"] == "API"
    assert inputs["skipDefaultNodeGroup"] is inputs["skipDefaultSecurityGroups"] is inputs["useDefaultVpcCni"] is True
    assert inputs["bootstrapSelfManagedAddons"] is inputs["createOidcProvider"] is inputs["createInstanceRole"] is False
    assert inputs["kubeProxyAddonOptions"] == inputs["corednsAddonOptions"] == {"enabled": False}
    assert not {"instanceRoles", "roleMappings", "userMappings", "subnetIds"} & set(inputs)


def test_the_cluster_role_is_managed_and_has_its_policy_before_the_cluster() -> None:
    made = by_id(control_plane_resources(eks_context()))
    cluster, role = made["Cluster/atlas"], made["Role/atlas-cluster"]
    assert cluster.inputs["serviceRole"] == Ref(role.id, ITSELF)
    (statement,) = printable(role.inputs["assumeRolePolicy"])["$json"]["Statement"]
    assert statement["Principal"] == {"Service": "eks.amazonaws.com"}
    attachment = made["RolePolicyAttachment/atlas-cluster-AmazonEKSClusterPolicy"]
    assert attachment.inputs["policyArn"] == "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"
    assert {role.id, attachment.id} <= set(cluster.needs)
    assert cluster.inputs["clusterTags"] == {"Name": "atlas"}


def test_it_is_in_the_private_subnets() -> None:
    inputs = cluster_inputs()
    assert inputs["vpcId"] == Ref("Vpc/atlas", "id")
    assert inputs["privateSubnetIds"] == [Ref(f"Subnet/private-{zone}", "id") for zone in ZONES]
    own = cluster_inputs(network=OWN_VPC)
    assert (own["vpcId"], own["privateSubnetIds"]) == ("vpc-0a1", ["subnet-0a", "subnet-0b"])


@pytest.mark.parametrize(
    ("endpoint", "private", "public", "cidrs"),
    [
        ({}, True, True, ["0.0.0.0/0"]),
        ({"publicCidrs": ["203.0.113.0/24"]}, True, True, ["203.0.113.0/24"]),
        ({"public": False}, True, False, None),
        ({"private": False, "publicCidrs": ["203.0.113.0/24"]}, False, True, ["203.0.113.0/24"]),
    ],
)
def test_the_endpoint_access_is_always_explicit(
    endpoint: dict[str, Any], private: bool, public: bool, cidrs: list[str] | None
) -> None:
    inputs = cluster_inputs(endpoint=endpoint)
    assert inputs["endpointPrivateAccess"] is private
    assert inputs["endpointPublicAccess"] is public
    assert inputs.get("publicAccessCidrs") == cidrs


def test_secrets_are_encrypted_with_a_key_that_down_keeps() -> None:
    made = by_id(control_plane_resources(eks_context()))
    key, alias, cluster = made["Key/atlas-secrets"], made["Alias/atlas-secrets"], made["Cluster/atlas"]
    assert key.retained
    assert (key.inputs["enableKeyRotation"], key.inputs["deletionWindowInDays"]) == (True, 30)
    assert alias.inputs == {"name": "alias/atlas-secrets", "targetKeyId": Ref("Key/atlas-secrets", "keyId")}
    assert not alias.retained
    assert cluster.inputs["encryptionConfigKeyArn"] == Ref("Key/atlas-secrets", "arn")


def test_a_configured_key_replaces_the_managed_key() -> None:
    context = eks_context(secretsKey=OWN_KEY)
    made = by_id(control_plane_resources(context))
    assert not [name for name in made if name.startswith(("Key/", "Alias/"))]
    assert made["Cluster/atlas"].inputs["encryptionConfigKeyArn"] == OWN_KEY


def test_the_log_group_exists_before_the_cluster_writes() -> None:
    made = by_id(control_plane_resources(eks_context(logs=["api", "audit"], logRetentionDays=90)))
    group = made["LogGroup/atlas-control-plane"]
    assert (group.inputs["name"], group.inputs["retentionInDays"]) == ("/aws/eks/atlas/cluster", 90)
    assert group.id in made["Cluster/atlas"].needs
    assert made["Cluster/atlas"].inputs["enabledClusterLogTypes"] == ["api", "audit"]


def test_without_logs_there_is_no_log_group() -> None:
    assert not [name for name in by_id(control_plane_resources(eks_context(logs=[]))) if name.startswith("LogGroup/")]


@pytest.mark.parametrize(("policy", "support"), [("standard", "STANDARD"), ("extended", "EXTENDED")])
def test_upgrade_policy_and_deletion_protection(policy: str, support: str) -> None:
    inputs = cluster_inputs(upgradePolicy=policy, deletionProtection=False)
    assert inputs["upgradePolicy"] == {"supportType": support}
    assert inputs["deletionProtection"] is False


def test_the_profile_is_used_for_the_kubeconfig_too() -> None:
    assert cluster_inputs(profile="ml")["providerCredentialOpts"] == {"profileName": "ml"}
    assert "providerCredentialOpts" not in cluster_inputs()


def test_nodes_share_the_group_that_eks_makes() -> None:
    assert cluster_security_group(eks_context()) == Ref("Cluster/atlas", "clusterSecurityGroupId")


@pytest.mark.parametrize(
    "target",
    [
        {"network": {"nat": "perZone", "endpoints": ["s3", "ecr", "logs"]}, "profile": "ml", "logs": ["api"]},
        {"network": OWN_VPC, "secretsKey": OWN_KEY, "endpoint": {"publicCidrs": ["203.0.113.0/24"]}},
    ],
)
def test_the_sdk_knows_every_name_and_type(target: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the SDK warns of its own modules when it is imported
        from tests.fakes.sdk_types import UNKNOWN, outputs, problems

        rest = {
            "teams": [{"name": "research", "members": {"edit": {"awsRoles": ["arn:aws:iam::111122223333:role/ml"]}}}],
            "storage": {"volumes": [{"name": "d", "kind": "efs"}, {"name": "s", "kind": "fsxLustre"}]},
        }
        context = eks_context(rest=rest, access={"ci": "arn:aws:iam::111122223333:role/ci"}, **target)
        statement = {"Effect": "Allow", "Action": "sqs:ReceiveMessage", "Resource": "*"}
        made = [
            *network_resources(context),
            *control_plane_resources(context),
            *node_role_resources(context),
            *addon_resources(context, ()),
            *pod_role(
                context, "x", service_account=("kube-system", "x"), statements=[statement], spec_path=("target",)
            ),
        ]
        by_id(made)
        kinds = {entry.id: entry.type for entry in made}

        def known(reference: Ref) -> str:
            assert reference.output in {"id", ITSELF, *outputs(kinds[reference.resource])}, reference
            return UNKNOWN

        for entry in made:
            assert problems(resolved(entry.inputs, known), entry.type) == [], entry.id
