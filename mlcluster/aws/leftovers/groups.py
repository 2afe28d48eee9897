"""Security groups, after the security group rules by which they refer to each other."""

from collections.abc import Iterator
from typing import Any

from mlcluster.aws.leftovers.interfaces import listed
from mlcluster.aws.leftovers.look import Look, in_parts
from mlcluster.aws.leftovers.ownership import tags_of
from mlcluster.aws.leftovers.things import Leftover


def security_groups(look: Look) -> Iterator[Leftover]:
    """Groups of ours and of controllers, never a VPC's default one."""
    mine = [(one, why) for one in _groups(look) if (why := _why(look, one))]
    rules = _rules(look, mine)
    yield from rules
    held = _held(look, [one["GroupId"] for one, _ in mine])
    for one, why in mine:
        identifier = one["GroupId"]
        yield look.found(
            "security group",
            identifier,
            [look.aws("ec2", "delete-security-group", "--group-id", identifier)],
            why=why,
            name=one.get("GroupName", ""),
            arn=look.arn("ec2", f"security-group/{identifier}"),
            blocked_by=(*_users(look, identifier), *held.get(identifier, ())),
        )


def _groups(look: Look) -> list[dict[str, Any]]:
    every = look.ec2("DescribeSecurityGroups", "SecurityGroups", "GroupId")
    return [one for one in every if one.get("GroupName") != "default"]


def _why(look: Look, one: dict[str, Any]) -> str:
    return look.owner.why(tags_of(one.get("Tags")), one.get("VpcId", ""), network=True)


def _rules(look: Look, mine: list[tuple[dict[str, Any], str]]) -> list[Leftover]:
    """Rules that name another group: that one cannot be deleted as long as they are there."""
    found = []
    for part in in_parts([one["GroupId"] for one, _ in mine if _names_another(one)]):
        filters = [{"Name": "group-id", "Values": part}]
        every = look.every("ec2", "DescribeSecurityGroupRules", "SecurityGroupRules", Filters=filters)
        for group in part:
            for egress in (False, True):
                ids = [rule["SecurityGroupRuleId"] for rule in every if _to_another(rule, group, egress=egress)]
                if ids:
                    found.append(_revocation(look, group, ids, egress=egress))
    return found


def _revocation(look: Look, group: str, rules: list[str], *, egress: bool) -> Leftover:
    way = "egress" if egress else "ingress"
    revoke = look.aws("ec2", f"revoke-security-group-{way}", "--group-id", group, "--security-group-rule-ids", *rules)
    return look.found("security group rules", f"{group} {way}", [revoke], why=f"of {group}, naming other groups")


def _to_another(rule: dict[str, Any], group: str, *, egress: bool) -> bool:
    other = rule.get("ReferencedGroupInfo", {}).get("GroupId", group)
    return bool(rule.get("GroupId") == group and rule.get("IsEgress", False) is egress and other != group)


def _names_another(one: dict[str, Any]) -> bool:
    permissions = (*one.get("IpPermissions", []), *one.get("IpPermissionsEgress", []))
    named = {pair.get("GroupId") for entry in permissions for pair in entry.get("UserIdGroupPairs", [])}
    return bool(named - {one["GroupId"], None})


def _held(look: Look, mine: list[str]) -> dict[str, list[str]]:
    """Group of ours -> groups of others whose rules name it: these are not ours to change."""
    held: dict[str, list[str]] = {}
    for part in in_parts(mine):
        for name in ("ip-permission.group-id", "egress.ip-permission.group-id"):
            filters = [{"Name": name, "Values": part}]
            for other in look.every("ec2", "DescribeSecurityGroups", "SecurityGroups", Filters=filters):
                for entry in (*other.get("IpPermissions", []), *other.get("IpPermissionsEgress", [])):
                    for pair in entry.get("UserIdGroupPairs", []):
                        if pair.get("GroupId") in part and other["GroupId"] not in mine:
                            held.setdefault(pair["GroupId"], []).append(f"rules of {other['GroupId']}")
    return held


def _users(look: Look, group: str) -> list[str]:
    """Interfaces of ours that are in the group."""
    return [
        one["NetworkInterfaceId"]
        for one in listed(look)
        if any(entry.get("GroupId") == group for entry in one.get("Groups", []))
    ]
