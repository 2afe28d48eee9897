"""IAM roles of eks."""

from typing import Any

import pytest

from mlcluster.plan.eks.addons import addon_resources
from mlcluster.plan.eks.identity import ROLE, node_role_arn, node_role_resources, pod_role, role_arn
from mlcluster.plan.values import Ref, printable
from mlcluster.spec.cluster import ClusterSpec
from tests.eks_contexts import by_id, eks_context, eks_spec

pytestmark = pytest.mark.unit

STATEMENT = {"Effect": "Allow", "Action": "sqs:ReceiveMessage", "Resource": Ref("Queue/atlas", "arn")}
LONGEST_IAM_ROLE = 64


def trust_of(role: Any) -> dict[str, Any]:
    """Return the one statement of its trust policy."""
    (statement,) = printable(role.inputs["assumeRolePolicy"])["$json"]["Statement"]
    found: dict[str, Any] = statement
    return found


def test_nodes_join_and_pull_and_that_is_all() -> None:
    context = eks_context()
    made = by_id(node_role_resources(context))
    assert node_role_arn(context) == Ref("Role/atlas-nodes", "arn")
    assert trust_of(made["Role/atlas-nodes"])["Principal"] == {"Service": "ec2.amazonaws.com"}
    policies = {entry.inputs["policyArn"] for entry in made.values() if entry.type != ROLE}
    assert policies == {
        "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy",
        "arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly",
    }


def test_a_role_for_a_service_account_is_associated_after_its_policies() -> None:
    context = eks_context()
    made = pod_role(
        context,
        "autoscaler",
        service_account=("kube-system", "cluster-autoscaler"),
        managed_policies=("service-role/AmazonEBSCSIDriverPolicy",),
        statements=[STATEMENT],
        spec_path=("target", "autoscaler"),
    )
    found = by_id(made)
    assert list(found) == [
        "Role/atlas-autoscaler",
        "RolePolicyAttachment/atlas-autoscaler-AmazonEBSCSIDriverPolicy",
        "RolePolicy/atlas-autoscaler",
        "PodIdentityAssociation/atlas-autoscaler",
    ]
    trust = trust_of(found["Role/atlas-autoscaler"])
    assert trust["Principal"] == {"Service": "pods.eks.amazonaws.com"}
    assert trust["Action"] == ["sts:AssumeRole", "sts:TagSession"]
    attached = found["RolePolicyAttachment/atlas-autoscaler-AmazonEBSCSIDriverPolicy"].inputs
    assert attached["policyArn"] == "arn:aws:iam::aws:policy/service-role/AmazonEBSCSIDriverPolicy"
    policy = printable(found["RolePolicy/atlas-autoscaler"].inputs["policy"])["$json"]
    assert policy["Statement"] == [{**STATEMENT, "Resource": "${Queue/atlas.arn}"}]
    assert "Queue/atlas" in found["RolePolicy/atlas-autoscaler"].needs
    association = found["PodIdentityAssociation/atlas-autoscaler"]
    assert (association.inputs["namespace"], association.inputs["serviceAccount"]) == (
        "kube-system",
        "cluster-autoscaler",
    )
    assert association.inputs["roleArn"] == role_arn(context, "autoscaler")
    assert set(association.needs) == {"Cluster/atlas", *list(found)[:3]}
    assert {entry.spec_path for entry in made} == {("target", "autoscaler")}


def test_without_a_service_account_nothing_is_associated() -> None:
    made = pod_role(eks_context(), "vpc-cni", service_account=None, spec_path=("target",))
    assert [entry.id for entry in made] == ["Role/atlas-vpc-cni"]


def test_the_longest_name_of_a_cluster_keeps_every_role_within_iam() -> None:
    data = eks_spec().model_dump(by_alias=True)
    data["metadata"]["name"] = "a" * 40
    data["storage"]["volumes"] = [{"name": "d", "kind": "efs"}, {"name": "s", "kind": "fsxLustre"}]
    spec = ClusterSpec.model_validate(data)
    context = eks_context()
    longest = type(context)(spec, spec.target, context.pools)  # type: ignore[arg-type] # it is the eks target
    made = [*node_role_resources(longest), *addon_resources(longest, ())]
    names = [entry.inputs["name"] for entry in made if entry.type == ROLE]
    assert len(names) == 5
    assert all(len(name) <= LONGEST_IAM_ROLE for name in names)
