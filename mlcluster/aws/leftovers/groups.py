"""Security groups, after the security group rules by which they refer to each other."""

from collections.abc import Iterator
from typing import Any

from mlcluster.aws.leftovers.interfaces import cluster_interfaces
from mlcluster.aws.leftovers.ownership import tags_of
from mlcluster.aws.leftovers.results import Leftover
from mlcluster.aws.leftovers.search import Search, in_parts


def security_groups(search: Search) -> Iterator[Leftover]:
    """Yield the security groups of mlcluster and of controllers, but not the default group of a VPC."""
    mine = [(one, why) for one in _groups(search) if (why := _why(search, one))]
    rules = _rules(search, mine)
    yield from rules
    held = _held(search, [one["GroupId"] for one, _ in mine])
    for one, why in mine:
        identifier = one["GroupId"]
        yield search.found(
            "security group",
            identifier,
            [search.aws("ec2", "delete-security-group", "--group-id", identifier)],
            why=why,
            name=one.get("GroupName", ""),
            arn=search.arn("ec2", f"security-group/{identifier}"),
            blocked_by=(*_users(search, identifier), *held.get(identifier, ())),
        )


def _groups(search: Search) -> list[dict[str, Any]]:
    every = search.ec2("DescribeSecurityGroups", "SecurityGroups", "GroupId")
    return [one for one in every if one.get("GroupName") != "default"]


def _why(search: Search, one: dict[str, Any]) -> str:
    return search.owner.why(tags_of(one.get("Tags")), one.get("VpcId", ""), network=True)


def _rules(search: Search, mine: list[tuple[dict[str, Any], str]]) -> list[Leftover]:
    """Return the rules that refer to another group, which cannot be deleted while they exist."""
    found = []
    for part in in_parts([one["GroupId"] for one, _ in mine if _names_another(one)]):
        filters = [{"Name": "group-id", "Values": part}]
        every = search.every("ec2", "DescribeSecurityGroupRules", "SecurityGroupRules", Filters=filters)
        for group in part:
            for egress in (False, True):
                ids = [rule["SecurityGroupRuleId"] for rule in every if _to_another(rule, group, egress=egress)]
                if ids:
                    found.append(_revocation(search, group, ids, egress=egress))
    return found


def _revocation(search: Search, group: str, rules: list[str], *, egress: bool) -> Leftover:
    way = "egress" if egress else "ingress"
    revoke = search.aws("ec2", f"revoke-security-group-{way}", "--group-id", group, "--security-group-rule-ids", *rules)
    return search.found("security group rules", f"{group} {way}", [revoke], why=f"of {group}, naming other groups")


def _to_another(rule: dict[str, Any], group: str, *, egress: bool) -> bool:
    other = rule.get("ReferencedGroupInfo", {}).get("GroupId", group)
    return bool(rule.get("GroupId") == group and rule.get("IsEgress", False) is egress and other != group)


def _names_another(one: dict[str, Any]) -> bool:
    permissions = (*one.get("IpPermissions", []), *one.get("IpPermissionsEgress", []))
    named = {pair.get("GroupId") for entry in permissions for pair in entry.get("UserIdGroupPairs", [])}
    return bool(named - {one["GroupId"], None})


def _held(search: Search, mine: list[str]) -> dict[str, list[str]]:
    """Return, for each leftover group, the unmanaged groups whose rules refer to it, and stay unchanged."""
    held: dict[str, list[str]] = {}
    for part in in_parts(mine):
        for name in ("ip-permission.group-id", "egress.ip-permission.group-id"):
            filters = [{"Name": name, "Values": part}]
            for other in search.every("ec2", "DescribeSecurityGroups", "SecurityGroups", Filters=filters):
                for entry in (*other.get("IpPermissions", []), *other.get("IpPermissionsEgress", [])):
                    for pair in entry.get("UserIdGroupPairs", []):
                        if pair.get("GroupId") in part and other["GroupId"] not in mine:
                            held.setdefault(pair["GroupId"], []).append(f"rules of {other['GroupId']}")
    return held


def _users(search: Search, group: str) -> list[str]:
    """Return the leftover interfaces that use the group."""
    return [
        one["NetworkInterfaceId"]
        for one in cluster_interfaces(search)
        if any(entry.get("GroupId") == group for entry in one.get("Groups", []))
    ]
