"""Access entries of the cluster's IAM principals (authentication mode API, no aws-auth ConfigMap).

A principal has one entry for all its duties: EKS rejects a second entry (CreateAccessEntry, ResourceInUseException). So
a role that is an admin and a member of two teams becomes one entry with a policy and two groups.
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
"""The Kubernetes group of viewers, and the name of the ClusterRole that the group has besides the policy."""

_ALSO_VIEWED = {
    "": ["nodes", "namespaces", "persistentvolumes"],
    "storage.k8s.io": ["*"],
    "scheduling.k8s.io": ["priorityclasses"],
    "kueue.x-k8s.io": ["*"],
    "karpenter.sh": ["*"],
    "karpenter.k8s.aws": ["*"],
    "metrics.k8s.io": ["*"],
}
"""Resources that the view policy omits, by API group: cluster-scoped resources and custom resources."""

_SPEC_PATH: Loc = ("target", "access", "viewers")


def team_group(team: str, role: str) -> str:
    """Return the Kubernetes group of a team's IAM roles; a RoleBinding in the team's namespace refers to it."""
    return f"mlcluster:{team}:{role}"


def access_entries(context: EksContext) -> Manifest:
    """Return the map `accessEntries` of eks:index:Cluster: one entry for each principal, in the order of the spec.

    Keys become part of resource names, so a key is made of the parts of a principal that never change: account and
    name.
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
    """Return the ClusterRole and binding that let viewers read nodes, queues and volumes; [] without viewers."""
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
    """Return the name of a principal's access entry.

    For arn:aws:iam::111122223333:role/platform it is 111122223333:role/platform.
    """
    return principal.partition(":iam::")[2]


def administrators(context: EksContext) -> tuple[str, ...]:
    """Return the principals with every right in the cluster, without the principal that creates it."""
    access = context.target.access
    return tuple(dict.fromkeys((*access.admins, *([access.ci] if access.ci else []))))


def caller_listing(context: EksContext, caller: str) -> Literal["administrator", "other", "unlisted"]:
    """Return the role that the spec gives to the principal that runs mlcluster.

    EKS makes an access entry for the principal that creates a cluster, because the component always requests it, and
    then rejects the spec's entry for the same principal. So the creator must not be listed: preflight reports AWS012.

    Args:
        caller: the caller's ARN from STS; for an assumed role,
            arn:aws:sts::111122223333:assumed-role/NAME/SESSION, which lacks the role's path.
    """
    if _identity(caller) in map(_identity, administrators(context)):
        return "administrator"
    listed = (entry["principalArn"] for entry in access_entries(context).values())
    return "other" if _identity(caller) in map(_identity, listed) else "unlisted"


def _identity(arn: str) -> tuple[str, str, str]:
    """Return the account, kind and name of a principal, without its path and session."""
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
    # Without the list, an entry keeps its previous groups (access_entry.go of the aws provider: Optional, Computed).
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
