"""Karpenter's rights in the account, and the identity of its nodes.

The statements grant the rights that Karpenter 1.14 needs (its CloudFormation reference), narrowed to this cluster: the
subnets and security groups of the plan, launches and deletions by tag, one role and one instance profile. mlcluster
manages the profile: Karpenter then needs no rights to make profiles, a VPC without a route to IAM works too, and
`down` leaves no profile.

Karpenter's nodes have a separate role. EKS makes the access entry of a managed node group's role and may delete it
with the last such group; a managed entry for the same role would collide with it (EKS user guide, "Create access
entries"; aws/containers-roadmap#2631).
"""

from typing import Any

from mlcluster.plan.eks.context import EksContext, resource, resource_id
from mlcluster.plan.eks.control_plane import cluster_id, cluster_security_group
from mlcluster.plan.eks.identity import ATTACHMENT, NODE_POLICIES, ROLE, pod_role, role_name
from mlcluster.plan.eks.interfaces import efa_security_group
from mlcluster.plan.eks.subnets import node_subnets
from mlcluster.plan.model import PlanResource
from mlcluster.plan.values import Joined, JsonText, Ref
from mlcluster.spec.document import Loc

NODES = "karpenter-nodes"
SERVICE_ACCOUNT = "karpenter"
SPEC_PATH: Loc = ("target", "autoscaler")
PROFILE = "aws:iam/instanceProfile:InstanceProfile"
ACCESS_ENTRY = "aws:eks/accessEntry:AccessEntry"
_LAUNCHED = ("fleet", "instance", "volume", "network-interface", "launch-template", "spot-instances-request")
_LAUNCH = ["ec2:RunInstances", "ec2:CreateFleet"]
_LOOK = (
    "CapacityReservations",
    "Images",
    "Instances",
    "InstanceStatus",
    "InstanceTypeOfferings",
    "InstanceTypes",
    "LaunchTemplates",
    "PlacementGroups",
    "SecurityGroups",
    "SpotPriceHistory",
    "Subnets",
)

Statement = dict[str, Any]


def karpenter_role_resources(context: EksContext, namespace: str, queue: Ref) -> list[PlanResource]:
    """Return the controller's role, associated with its service account.

    Args:
        namespace: namespace of the service account.
        queue: ARN of the interruption queue.
    """
    return pod_role(
        context,
        "karpenter",
        service_account=(namespace, SERVICE_ACCOUNT),
        statements=karpenter_statements(context, queue),
        spec_path=SPEC_PATH,
    )


def node_identity_resources(context: EksContext) -> list[PlanResource]:
    """Return the role of Karpenter's nodes with its policies and profile, and its access entry for the cluster."""
    name = role_name(context, NODES)
    role = Ref(resource_id(ROLE, name), "name")
    trust = {"Effect": "Allow", "Principal": {"Service": _ec2_service(context)}, "Action": "sts:AssumeRole"}
    inputs = {
        "name": name,
        "description": f"Nodes that Karpenter starts ({context.name}, made by mlcluster)",
        "assumeRolePolicy": JsonText({"Version": "2012-10-17", "Statement": [trust]}),
        "tags": context.tags,
    }
    policies = f"arn:{context.partition}:iam::aws:policy/"
    entry = {
        "clusterName": context.name,
        "principalArn": Ref(resource_id(ROLE, name), "arn"),
        "type": "EC2_LINUX",
        "tags": context.tags,
    }
    return [
        resource(ROLE, name, inputs, spec_path=SPEC_PATH),
        *(
            resource(
                ATTACHMENT, f"{name}-{policy}", {"role": role, "policyArn": policies + policy}, spec_path=SPEC_PATH
            )
            for policy in NODE_POLICIES
        ),
        resource(PROFILE, name, {"name": name, "role": role, "tags": context.tags}, spec_path=SPEC_PATH),
        resource(ACCESS_ENTRY, name, entry, spec_path=SPEC_PATH, needs=(cluster_id(context),)),
    ]


def instance_profile(context: EksContext) -> str:
    """Return the name of the instance profile of Karpenter's nodes."""
    return role_name(context, NODES)


def karpenter_statements(context: EksContext, queue: Ref) -> list[Statement]:
    """Return the IAM statements of the controller."""
    role = resource_id(ROLE, role_name(context, NODES))
    profile = Ref(resource_id(PROFILE, instance_profile(context)), "arn")
    services = ["ec2.amazonaws.com", "ec2.amazonaws.com.cn"]
    parameters = f"arn:{context.partition}:ssm:{context.target.region}::parameter/aws/service"
    cluster = f"arn:{context.partition}:eks:{context.target.region}:{context.target.account_id or '*'}:cluster"
    in_region = {"StringEquals": {"aws:RequestedRegion": context.target.region}}
    messages = ["sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"]
    passed = {"StringEquals": {"iam:PassedToService": services}}
    return [
        *_launching(context),
        *_ending(context),
        _allow("Look", [f"ec2:Describe{what}" for what in _LOOK], "*", in_region),
        _allow("Images", ["ssm:GetParameter"], [f"{parameters}/{family}/*" for family in ("eks", "bottlerocket")]),
        _allow("Prices", ["pricing:GetProducts"], "*"),
        _allow("Interruptions", messages, queue),
        _allow("NodeRole", ["iam:PassRole"], Ref(role, "arn"), passed),
        _allow("Profile", ["iam:GetInstanceProfile"], profile),
        # Karpenter's garbage collector lists profiles even if it makes none; the action has no resource level.
        _allow("Profiles", ["iam:ListInstanceProfiles"], "*"),
        _allow("Endpoint", ["eks:DescribeCluster"], f"{cluster}/{context.name}"),
    ]


def _launching(context: EksContext) -> list[Statement]:
    """Return the statements for launches, only with the plan's subnets and security groups and the cluster's tags."""
    marked = {
        "StringEquals": {**_owned(context, "Request"), "aws:RequestTag/eks:eks-cluster-name": context.name},
        "StringLike": {"aws:RequestTag/karpenter.sh/nodepool": "*"},
    }
    at_creation = {"ec2:CreateAction": ["RunInstances", "CreateFleet", "CreateLaunchTemplate"]}
    tagging = {**marked, "StringEquals": {**marked["StringEquals"], **at_creation}}
    launched = [_arn(context, f"{kind}/*") for kind in _LAUNCHED]
    templates = [_arn(context, "launch-template/*")]
    return [
        _allow("LaunchWith", _LAUNCH, _ingredients(context)),
        _allow("LaunchFromTemplate", _LAUNCH, templates, _with_cluster_tags(context)),
        _allow("Launch", [*_LAUNCH, "ec2:CreateLaunchTemplate"], launched, marked),
        _allow("TagLaunched", ["ec2:CreateTags"], launched, tagging),
    ]


def _ending(context: EksContext) -> list[Statement]:
    """Return the statements for deletions, only of resources with the cluster's tags."""
    managed = _with_cluster_tags(context)
    names = {
        **managed,
        "StringEqualsIfExists": {"aws:RequestTag/eks:eks-cluster-name": context.name},
        "ForAllValues:StringEquals": {"aws:TagKeys": ["eks:eks-cluster-name", "karpenter.sh/nodeclaim", "Name"]},
    }
    instances, templates = _arn(context, "instance/*"), _arn(context, "launch-template/*")
    return [
        _allow("NameInstances", ["ec2:CreateTags"], [instances], names),
        _allow("End", ["ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"], [instances, templates], managed),
    ]


def _ingredients(context: EksContext) -> list[str | Joined]:
    """Return the ARNs of existing resources that a launch uses; ARNs of public images and snapshots have no account."""
    written = [context.spec_pool(pool) for pool in context.provisioned]
    public = f"arn:{context.partition}:ec2:{context.target.region}::"
    groups = [cluster_security_group(context)]
    if any(pool.network.efa for pool in written):
        groups.append(efa_security_group(context))
    subnets = node_subnets(context, context.zones)
    found: list[str | Joined] = [
        f"{public}image/*",
        f"{public}snapshot/*",
        *(Joined((_arn(context, "subnet/"), subnet)) for subnet in subnets),
        *(Joined((_arn(context, "security-group/"), group)) for group in groups),
    ]
    reservations = dict.fromkeys(pool.capacity.reservation_id for pool in written if pool.capacity.reservation_id)
    found += [_arn(context, f"capacity-reservation/{reservation}") for reservation in reservations]
    if any(pool.network.placement_group == "cluster" for pool in written):
        found.append(_arn(context, f"placement-group/{context.name}-*"))
    return found


def _arn(context: EksContext, what: str) -> str:
    """Return an ARN of EC2 in the cluster's region and any account: another account can own a reservation."""
    return f"arn:{context.partition}:ec2:{context.target.region}:*:{what}"


def _with_cluster_tags(context: EksContext) -> Statement:
    """Return the conditions that a resource has the tags of the cluster and of a Karpenter NodePool."""
    tagged = {"aws:ResourceTag/karpenter.sh/nodepool": "*"}
    return {"StringEquals": _owned(context, "Resource"), "StringLike": tagged}


def _owned(context: EksContext, whose: str) -> dict[str, str]:
    return {f"aws:{whose}Tag/kubernetes.io/cluster/{context.name}": "owned"}


def _allow(sid: str, actions: list[str], on: Any, condition: Statement | None = None) -> Statement:
    statement = {"Sid": sid, "Effect": "Allow", "Action": actions, "Resource": on}
    return {**statement, "Condition": condition} if condition else statement


def _ec2_service(context: EksContext) -> str:
    return "ec2.amazonaws.com.cn" if context.partition == "aws-cn" else "ec2.amazonaws.com"
