"""The admission policy on RoleBindings: an admin of a team lets in named users, and not all users of the cluster."""

from mlcluster.plan.objects import RBAC_GROUP
from mlcluster.plan.policy import Policy, may_everywhere


def access_policy() -> Policy:
    """Return the policy on the subjects of RoleBindings in a team's namespace.

    The role `admin` may bind roles that it holds to any subject (RBAC checks the role, not the subject), so one
    RoleBinding to `system:authenticated` would give a team's quota and Secrets to every user of the cluster. Users that
    may write RoleBindings in every namespace, mlcluster among them, are not bound.
    """
    everywhere = may_everywhere("create", f"'{RBAC_GROUP}'", "'rolebindings'")
    all_users = (
        "(s.kind == 'Group' && s.name.startsWith('system:') && s.name != 'system:serviceaccounts:' + request.namespace)"
        " || (s.kind == 'User' && s.name == 'system:anonymous')"
    )
    return Policy(
        name="mlcluster-role-bindings",
        scheduler="",
        rules=[
            {
                "apiGroups": [RBAC_GROUP],
                "apiVersions": ["v1"],
                "resources": ["rolebindings"],
                "operations": ["CREATE", "UPDATE"],
            }
        ],
        variables={},
        validations=[
            (
                f"!has(object.subjects) || !object.subjects.exists(s, {all_users})",
                (
                    "this would let all users of the cluster into the team's namespace:"
                    " bind the role to the groups, users and service accounts that need it"
                ),
            )
        ],
        match_conditions={"not-a-cluster-admin": f"!{everywhere}"},
    )
