"""IAM instance profiles, roles and policies. Lists have no tags, so only planned names are looked up."""

from collections.abc import Iterator
from typing import Any

from mlcluster.aws.leftovers.look import Look
from mlcluster.aws.leftovers.ownership import tags_of
from mlcluster.aws.leftovers.things import Leftover


def instance_profiles(look: Look) -> Iterator[Leftover]:
    """Before the roles in them; Karpenter makes one for each of its node classes."""
    for one in look.every("iam", "ListInstanceProfiles", "InstanceProfiles"):
        name = one["InstanceProfileName"]
        why = _why(look, name, "ListInstanceProfileTags", "InstanceProfileName")
        if why:
            which = ("--instance-profile-name", name)
            take_out = [
                look.aws("iam", "remove-role-from-instance-profile", *which, "--role-name", role["RoleName"])
                for role in one.get("Roles", [])
            ]
            delete = look.aws("iam", "delete-instance-profile", *which)
            yield look.found("instance profile", name, [*take_out, delete], why=why, name=name, arn=one["Arn"])


def roles(look: Look) -> Iterator[Leftover]:
    """With what must be taken off them first."""
    for one in look.every("iam", "ListRoles", "Roles"):
        name = one["RoleName"]
        why = _why(look, name, "ListRoleTags", "RoleName")
        if why:
            delete = look.aws("iam", "delete-role", "--role-name", name)
            profiles = look.every("iam", "ListInstanceProfilesForRole", "InstanceProfiles", RoleName=name)
            yield look.found(
                "IAM role",
                name,
                [*_bare(look, name), delete],
                why=why,
                name=name,
                arn=one["Arn"],
                blocked_by=(profile["InstanceProfileName"] for profile in profiles),
            )


def policies(look: Look) -> Iterator[Leftover]:
    """Our own managed policies, after the roles that had them."""
    for one in look.every("iam", "ListPolicies", "Policies", Scope="Local"):
        arn, name = one["Arn"], one["PolicyName"]
        why = _why(look, name, "ListPolicyTags", "PolicyArn", arn)
        if why:
            delete = look.aws("iam", "delete-policy", "--policy-arn", arn)
            yield look.found("IAM policy", arn, [delete], why=why, name=name, arn=arn)


def _why(look: Look, name: str, operation: str, parameter: str, value: str = "") -> str:
    if not name.startswith(look.owner.cluster):
        return ""
    which: dict[str, Any] = {parameter: value or name}
    return look.owner.why(tags_of(look.every("iam", operation, "Tags", **which)))


def _bare(look: Look, role: str) -> list[str]:
    which = ("--role-name", role)
    attached = look.every("iam", "ListAttachedRolePolicies", "AttachedPolicies", RoleName=role)
    inline = look.every("iam", "ListRolePolicies", "PolicyNames", RoleName=role)
    return [
        *(look.aws("iam", "detach-role-policy", *which, "--policy-arn", one["PolicyArn"]) for one in attached),
        *(look.aws("iam", "delete-role-policy", *which, "--policy-name", name) for name in inline),
    ]
