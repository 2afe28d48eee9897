"""IAM instance profiles, roles and policies. IAM lists carry no tags, so the search looks up planned names only."""

from collections.abc import Iterator
from typing import Any

from mlcluster.aws.leftovers.ownership import tags_of
from mlcluster.aws.leftovers.results import Leftover
from mlcluster.aws.leftovers.search import Search


def instance_profiles(search: Search) -> Iterator[Leftover]:
    """Yield instance profiles, before the roles in them. Karpenter creates one for each EC2NodeClass."""
    for one in search.every("iam", "ListInstanceProfiles", "InstanceProfiles"):
        name = one["InstanceProfileName"]
        why = _why(search, name, "ListInstanceProfileTags", "InstanceProfileName")
        if why:
            which = ("--instance-profile-name", name)
            take_out = [
                search.aws("iam", "remove-role-from-instance-profile", *which, "--role-name", role["RoleName"])
                for role in one.get("Roles", [])
            ]
            delete = search.aws("iam", "delete-instance-profile", *which)
            yield search.found("instance profile", name, [*take_out, delete], why=why, name=name, arn=one["Arn"])


def roles(search: Search) -> Iterator[Leftover]:
    """Yield roles, whose commands first remove their policies."""
    for one in search.every("iam", "ListRoles", "Roles"):
        name = one["RoleName"]
        why = _why(search, name, "ListRoleTags", "RoleName")
        if why:
            delete = search.aws("iam", "delete-role", "--role-name", name)
            profiles = search.every("iam", "ListInstanceProfilesForRole", "InstanceProfiles", RoleName=name)
            yield search.found(
                "IAM role",
                name,
                [*_detach_commands(search, name), delete],
                why=why,
                name=name,
                arn=one["Arn"],
                blocked_by=(profile["InstanceProfileName"] for profile in profiles),
            )


def policies(search: Search) -> Iterator[Leftover]:
    """Yield the customer managed policies of mlcluster, after the roles that used them."""
    for one in search.every("iam", "ListPolicies", "Policies", Scope="Local"):
        arn, name = one["Arn"], one["PolicyName"]
        why = _why(search, name, "ListPolicyTags", "PolicyArn", arn)
        if why:
            delete = search.aws("iam", "delete-policy", "--policy-arn", arn)
            yield search.found("IAM policy", arn, [delete], why=why, name=name, arn=arn)


def _why(search: Search, name: str, operation: str, parameter: str, value: str = "") -> str:
    if not name.startswith(search.owner.cluster):
        return ""
    which: dict[str, Any] = {parameter: value or name}
    return search.owner.why(tags_of(search.every("iam", operation, "Tags", **which)))


def _detach_commands(search: Search, role: str) -> list[str]:
    which = ("--role-name", role)
    attached = search.every("iam", "ListAttachedRolePolicies", "AttachedPolicies", RoleName=role)
    inline = search.every("iam", "ListRolePolicies", "PolicyNames", RoleName=role)
    return [
        *(search.aws("iam", "detach-role-policy", *which, "--policy-arn", one["PolicyArn"]) for one in attached),
        *(search.aws("iam", "delete-role-policy", *which, "--policy-name", name) for name in inline),
    ]
