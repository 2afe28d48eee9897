"""Check that the zones exist and offer the instance types."""

from mlcluster.aws.preflight.facts import Facts, Place, joined
from mlcluster.aws.preflight.report import Outcome
from mlcluster.findings import Finding, finding

NO_CONTROL_PLANE = frozenset({"use1-az3", "usw1-az2", "cac1-az3"})
"""Zone IDs in which EKS accepts no subnets (EKS user guide, "Subnet requirements and considerations")."""


def zones(facts: Facts) -> Outcome:
    """Check AWS003: the account has every zone, it is available, and EKS accepts subnets in it."""
    known = facts.zones()
    wanted: dict[str, Place] = dict.fromkeys(facts.context.zones, ("target", "zones"))
    for pool in facts.pools:
        for zone in facts.context.zones_of(pool):
            wanted.setdefault(zone, facts.place(pool, "zones"))
    problems = [problem for zone, place in wanted.items() if (problem := _zone(facts, zone, place)) is not None]
    states = [f"{zone} {known[zone]['State']}" for zone in wanted if zone in known]
    return Outcome(joined(states) if states else "none of the zones exists", tuple(problems))


def _zone(facts: Facts, zone: str, place: Place) -> Finding | None:
    known = facts.zones()
    usable = [
        name
        for name, entry in known.items()
        if entry.get("ZoneType", "availability-zone") == "availability-zone"
        and entry["ZoneId"] not in NO_CONTROL_PLANE
        and entry["State"] == "available"
    ]
    hint = f"Use {joined(sorted(usable))}."
    if zone not in known:
        return finding("AWS003", place, f"this account has no zone {zone} in {facts.account.region}", hint)
    entry = known[zone]
    if entry["State"] not in {"available", "information"}:
        return finding("AWS003", place, f"zone {zone} is {entry['State']}", hint)
    if entry["ZoneId"] in NO_CONTROL_PLANE:
        return finding("AWS003", place, f"EKS accepts no subnet in zone {zone} ({entry['ZoneId']})", hint)
    if entry.get("ZoneType", "availability-zone") != "availability-zone":
        return finding("AWS003", place, f"{zone} is a {entry['ZoneType']}, not an availability zone", hint)
    return None


def instance_types(facts: Facts) -> Outcome:
    """Check AWS003: every zone of a pool offers its instance types."""
    types = sorted({name for pool in facts.pools for name in facts.types_of(pool)})
    offered: dict[str, set[str]] = {}
    for entry in facts.account.ask_all(
        "ec2",
        "DescribeInstanceTypeOfferings",
        "InstanceTypeOfferings",
        LocationType="availability-zone",
        Filters=[{"Name": "instance-type", "Values": types}],
    ):
        offered.setdefault(entry["InstanceType"], set()).add(entry["Location"])
    problems = []
    for index, pool in enumerate(facts.pools):
        wanted = facts.context.zones_of(pool)
        for position, name in enumerate(facts.types_of(pool)):
            there = offered.get(name, set())
            missing = [zone for zone in wanted if zone not in there]
            if missing and (position == 0 or len(missing) == len(wanted)):
                field = ("instanceType",) if position == 0 else ("capacity", "also", position - 1)
                hint = (
                    f"Choose a zone that offers it: {joined(sorted(there))}."
                    if there
                    else "Choose another instance type or region."
                )
                message = f"{name} is not offered in {joined(missing)}"
                problems.append(finding("AWS003", ("nodePools", index, *field), message, hint))
    zones_of_types = "; ".join(f"{name} in {joined(sorted(offered.get(name, ())))}" for name in types)
    return Outcome(f"offered: {zones_of_types}", tuple(problems))
