"""Access entries: which IAM principal is who in the cluster (authentication mode API, no aws-auth ConfigMap).

A principal has one entry, whatever it is: EKS refuses a second one (CreateAccessEntry, ResourceInUseException). So a
role that is an admin and a member of two teams becomes one entry with a policy and two groups.
"""

from collections.abc import Iterator
from typing import Literal

from mlcluster.plan.eks.context import EksContext
from mlcluster.plan.model import Manifest, PlanObject
from mlcluster.plan.objects import RBAC_API, RBAC_GROUP, READ, cluster_role_ref, make
from mlcluster.spec.document import Loc
from mlcluster.spec.teams import Team

ADMIN_POLICY = "AmazonEKSClusterAdminPolicy"
VIEW_POLICY = "AmazonEKSViewPolicy"
"""Not AmazonEKSAdminViewPolicy, which reads Secrets too (EKS user guide, "Review access policy permissions")."""

VIEWERS = "mlcluster:viewers"
"""The Kubernetes group of viewers, and the name of the ClusterRole that it has besides the policy."""

_ALSO_VIEWED = {
    "": ["nodes", "namespaces", "persistentvolumes"],
    "storage.k8s.io": ["*"],
    "scheduling.k8s.io": ["priorityclasses"],
    "kueue.x-k8s.io": ["*"],
    "karpenter.sh": ["*"],
    "karpenter.k8s.aws": ["*"],
    "metrics.k8s.io": ["*"],
}
"""What the view policy leaves out, by API group: what belongs to no namespace, and custom resources."""

_SPEC_PATH: Loc = ("target", "access", "viewers")


def team_group(team: str, role: str) -> str:
    """The Kubernetes group of the IAM roles of a team; a RoleBinding in the team's namespace names it."""
    return f"mlcluster:{team}:{role}"


def access_entries(context: EksContext) -> Manifest:
    """The map `accessEntries` of eks:index:Cluster: one entry for each principal, in the order of the spec.

    Keys become part of resource names, so they are what never changes of a principal: account and name.
    """
    policies = dict(_policies(context))
    groups = {viewer: [VIEWERS] for viewer in context.target.access.viewers}
    for team in context.spec.teams:
        for group, principal in _members(team):
            groups.setdefault(principal, []).append(group)
    return {
        entry_name(principal): _entry(context, principal, policies.get(principal, ""), groups.get(principal, []))
        for principal in dict.fromkeys((*policies, *groups))
    }


def access_objects(context: EksContext) -> list[PlanObject]:
    """What viewers may read besides the policy: nodes, queues, volumes; nothing where there are none."""
    if not context.target.access.viewers:
        return []
    rules = [{"apiGroups": [group], "resources": resources, "verbs": READ} for group, resources in _ALSO_VIEWED.items()]
    binding = {
        "roleRef": cluster_role_ref(VIEWERS),
        "subjects": [{"apiGroup": RBAC_GROUP, "kind": "Group", "name": VIEWERS}],
    }
    return [
        make(context.name, RBAC_API, "ClusterRole", VIEWERS, {"rules": rules}, spec_path=_SPEC_PATH),
        make(context.name, RBAC_API, "ClusterRoleBinding", VIEWERS, binding, spec_path=_SPEC_PATH),
    ]


def entry_name(principal: str) -> str:
    """111122223333:role/platform for arn:aws:iam::111122223333:role/platform."""
    return principal.partition(":iam::")[2]


def administrators(context: EksContext) -> tuple[str, ...]:
    """Principals with every right in the cluster, without the one that creates it."""
    access = context.target.access
    return tuple(dict.fromkeys((*access.admins, *([access.ci] if access.ci else []))))


def standing(context: EksContext, caller: str) -> Literal["administrator", "other", "unlisted"]:
    """What the spec says of whoever runs mlcluster.

    EKS gives whoever creates a cluster an entry of its own, because the component always asks for it, and then refuses
    the entry of the spec for the same principal. So whoever creates it must not be listed: preflight tells (AWS012).

    Args:
        caller: the ARN that AWS knows the caller by; of a role that somebody has taken,
            arn:aws:sts::111122223333:assumed-role/NAME/SESSION, which has lost the role's path.
    """
    if _identity(caller) in map(_identity, administrators(context)):
        return "administrator"
    listed = (entry["principalArn"] for entry in access_entries(context).values())
    return "other" if _identity(caller) in map(_identity, listed) else "unlisted"


def _identity(arn: str) -> tuple[str, str, str]:
    """Account, kind and name of a principal, without its path and session."""
    account, _, rest = arn.split(":", 4)[4].partition(":")
    kind, *names = rest.split("/")
    if kind == "assumed-role":
        return account, "role", names[0]
    return account, kind, names[-1] if names else ""


def _policies(context: EksContext) -> Iterator[tuple[str, str]]:
    for principal in context.target.access.viewers:
        yield principal, VIEW_POLICY
    for principal in administrators(context):
        yield principal, ADMIN_POLICY


def _members(team: Team) -> Iterator[tuple[str, str]]:
    for role, members in (("admin", team.members.admin), ("edit", team.members.edit), ("view", team.members.view)):
        for principal in dict.fromkeys(members.aws_roles):
            yield team_group(team.name, role), principal


def _entry(context: EksContext, principal: str, policy: str, groups: list[str]) -> Manifest:
    # An entry without the list keeps the groups that it had (access_entry.go of the aws provider: Optional, Computed).
    entry: Manifest = {
        "principalArn": principal,
        "type": "STANDARD",
        "kubernetesGroups": groups,
        "tags": context.tags,
    }
    if policy:
        arn = f"arn:{context.partition}:eks::aws:cluster-access-policy/{policy}"
        entry["accessPolicies"] = {policy: {"policyArn": arn, "accessScope": {"type": "cluster"}}}
    return entry
