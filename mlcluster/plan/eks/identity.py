"""IAM roles: of the control plane, of all nodes, and of each pod that calls AWS APIs (EKS Pod Identity, no OIDC).

Nodes may join the cluster and pull images, nothing more: the pods of the CNI or of an autoscaler have their own roles
(EKS user guide, "Amazon EKS node IAM role" and "EKS Pod Identities").
"""

from collections.abc import Sequence
from typing import Any

from mlcluster.plan.eks.context import EksContext, resource, resource_id
from mlcluster.plan.model import PlanResource
from mlcluster.plan.values import JsonText, Ref
from mlcluster.spec.document import Loc

ROLE = "aws:iam/role:Role"
ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
INLINE_POLICY = "aws:iam/rolePolicy:RolePolicy"
ASSOCIATION = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
NODES = "nodes"
CONTROL_PLANE = "cluster"
ITSELF = "self"
"""In place of an output's name: the resource itself, for inputs of that type (`serviceRole` of eks:index:Cluster)."""

NODE_POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly")
_POLICY_VERSION = "2012-10-17"


def role_name(context: EksContext, name: str) -> str:
    """Return the role's name in IAM: CLUSTER-name; a spec check enforces the IAM limit of 64 characters."""
    return f"{context.name}-{name}"


def role_arn(context: EksContext, name: str) -> Ref:
    """Return the ARN of a role that `pod_role` or `node_role_resources` makes."""
    return Ref(resource_id(ROLE, role_name(context, name)), "arn")


def node_role_arn(context: EksContext) -> Ref:
    """Return the ARN of the role of every managed node; Karpenter's nodes have another role."""
    return role_arn(context, NODES)


def node_role_resources(context: EksContext) -> list[PlanResource]:
    """Return the role of the nodes with its two managed policies."""
    service = "ec2.amazonaws.com.cn" if context.partition == "aws-cn" else "ec2.amazonaws.com"
    return [
        _role(context, NODES, _trusted(service, "sts:AssumeRole"), "Nodes of the cluster", ("target",)),
        *_attachments(context, NODES, NODE_POLICIES, ("target",)),
    ]


def control_plane_role(context: EksContext) -> Ref:
    """Return a reference to the role of the control plane as a resource."""
    return Ref(resource_id(ROLE, role_name(context, CONTROL_PLANE)), ITSELF)


def control_plane_role_resources(context: EksContext) -> list[PlanResource]:
    """Return the role of the control plane with its managed policy.

    Otherwise the component would make a role and Pulumi would derive its name from the cluster's plan id, whose slash
    IAM rejects.
    """
    return [
        _role(context, CONTROL_PLANE, _trusted("eks.amazonaws.com", "sts:AssumeRole"), "Control plane", ("target",)),
        *_attachments(context, CONTROL_PLANE, ("AmazonEKSClusterPolicy",), ("target",)),
    ]


def pod_role(  # noqa: PLR0913 -- the parts of a role
    context: EksContext,
    name: str,
    *,
    service_account: tuple[str, str] | None,
    managed_policies: Sequence[str] = (),
    statements: Sequence[dict[str, Any]] = (),
    spec_path: Loc,
) -> list[PlanResource]:
    """Return a role for pods: the role, its policies, and its association with the service account.

    Args:
        name: the part of the role's name after CLUSTER-.
        service_account: (namespace, name) that gets the role; None if an Addon makes the association itself.
        managed_policies: names of AWS managed policies, with their path: service-role/AmazonEBSCSIDriverPolicy.
        statements: statements of the inline policy, which may contain references.
    """
    trust = _trusted("pods.eks.amazonaws.com", "sts:AssumeRole", "sts:TagSession")
    purpose = f"Pods of {'/'.join(service_account)}" if service_account else f"Pods of the add-on {name}"
    made = [
        _role(context, name, trust, purpose, spec_path),
        *_attachments(context, name, managed_policies, spec_path),
        *_inline(context, name, statements, spec_path),
    ]
    if service_account is not None:
        made.append(_association(context, name, service_account, made, spec_path))
    return made


def _trusted(service: str, *actions: str) -> dict[str, Any]:
    """Return the statement that lets an AWS service assume a role."""
    return {"Effect": "Allow", "Principal": {"Service": service}, "Action": list(actions)}


def _role(context: EksContext, name: str, trust: dict[str, Any], purpose: str, spec_path: Loc) -> PlanResource:
    full = role_name(context, name)
    inputs = {
        "name": full,
        "description": f"{purpose} ({context.name}, made by mlcluster)",
        "assumeRolePolicy": _document([trust]),
        "tags": context.tags,
    }
    return resource(ROLE, full, inputs, spec_path=spec_path)


def _attachments(context: EksContext, name: str, policies: Sequence[str], spec_path: Loc) -> list[PlanResource]:
    full = role_name(context, name)
    role = Ref(resource_id(ROLE, full), "name")
    return [
        resource(
            ATTACHMENT,
            f"{full}-{policy.rpartition('/')[2]}",
            {"role": role, "policyArn": f"arn:{context.partition}:iam::aws:policy/{policy}"},
            spec_path=spec_path,
        )
        for policy in policies
    ]


def _inline(context: EksContext, name: str, statements: Sequence[dict[str, Any]], spec_path: Loc) -> list[PlanResource]:
    if not statements:
        return []
    full = role_name(context, name)
    inputs = {"name": full, "role": Ref(resource_id(ROLE, full), "name"), "policy": _document(statements)}
    return [resource(INLINE_POLICY, full, inputs, spec_path=spec_path)]


def _association(
    context: EksContext, name: str, account: tuple[str, str], role: Sequence[PlanResource], spec_path: Loc
) -> PlanResource:
    """Return the association of a role with its service account.

    The association comes after the policies, because a pod that starts before its role has rights fails and backs off.
    """
    namespace, service_account = account
    inputs = {
        "clusterName": context.name,
        "namespace": namespace,
        "serviceAccount": service_account,
        "roleArn": role_arn(context, name),
        "tags": context.tags,
    }
    needs = (f"Cluster/{context.name}", *(part.id for part in role))
    return resource(ASSOCIATION, role_name(context, name), inputs, spec_path=spec_path, needs=needs)


def _document(statements: Sequence[dict[str, Any]]) -> JsonText:
    return JsonText({"Version": _POLICY_VERSION, "Statement": list(statements)})
