"""Check that existing subnets have enough free addresses, in the right zones and VPC."""

from collections.abc import Iterator
from ipaddress import IPv4Network
from typing import Any

from mlcluster.aws.preflight.facts import Facts, Place
from mlcluster.aws.preflight.report import Outcome
from mlcluster.findings import Finding, finding
from mlcluster.plan.eks.addresses import AWS_RESERVED, demands


def subnets(facts: Facts) -> Outcome:
    """Check AWS006: every subnet exists, is in its VPC and zone, and has enough addresses for the pools at maxSize."""
    network = facts.target.network
    given = {
        ("target", "network", field, zone): (zone, identifier)
        for field, listed in (("privateSubnets", network.private_subnets), ("publicSubnets", network.public_subnets))
        for zone, identifier in listed.items()
    }
    if network.vpc_id is None or not given:
        return Outcome("the plan creates its own VPC", needed=False)
    identifiers = sorted({identifier for _, identifier in given.values()})
    listed = facts.account.ask_all(
        "ec2", "DescribeSubnets", "Subnets", Filters=[{"Name": "subnet-id", "Values": identifiers}]
    )
    there = {entry["SubnetId"]: entry for entry in listed}
    problems = [
        problem
        for place, (zone, identifier) in given.items()
        for problem in _misplaced(facts, place, zone, identifier, there.get(identifier))
    ]
    problems += _too_full(facts, there)
    told = [f"{entry['SubnetId']} {entry['AvailabilityZone']} {_free(entry)}" for entry in there.values()]
    return Outcome("; ".join(told) or "none of the subnets exists", tuple(problems))


def _free(entry: dict[str, Any]) -> str:
    return f"{entry['CidrBlock']} {entry['AvailableIpAddressCount']:,} free"


def _misplaced(
    facts: Facts, place: Place, zone: str, identifier: str, entry: dict[str, Any] | None
) -> Iterator[Finding]:
    if entry is None:
        where = f"account {facts.account.account_id} in {facts.account.region}"
        yield finding("AWS006", place, f"subnet {identifier} does not exist ({where})", "Correct the ID.")
        return
    if entry["VpcId"] != facts.target.network.vpc_id:
        message = f"subnet {identifier} is in {entry['VpcId']}, not in {facts.target.network.vpc_id}"
        yield finding("AWS006", place, message, "Use a subnet of the VPC, or correct `network.vpcId`.")
    if entry["AvailabilityZone"] != zone:
        message = f"subnet {identifier} is in zone {entry['AvailabilityZone']}, not in {zone}"
        yield finding("AWS006", place, message, f"Write it under `{entry['AvailabilityZone']}`.")
    if entry["State"] != "available":
        yield finding("AWS006", place, f"subnet {identifier} is {entry['State']}", "Wait, or use another subnet.")


def _too_full(facts: Facts, there: dict[str, dict[str, Any]]) -> Iterator[Finding]:
    """Yield a finding for each subnet with fewer addresses than the plan needs.

    All addresses of the subnet count if the cluster exists, because its own nodes use some of them.
    """
    for demand in demands(facts.context):
        entry = there.get(facts.target.network.private_subnets.get(demand.zone, ""))
        if entry is None:
            continue
        free, noun = int(entry["AvailableIpAddressCount"]), "free addresses"
        if facts.exists_already:
            free, noun = IPv4Network(entry["CidrBlock"]).num_addresses - AWS_RESERVED, "addresses"
        need = demand.addresses - AWS_RESERVED
        if need > free:
            parts = " + ".join(f"{pool.pool} {pool.nodes} x {pool.prefixes_per_node} x 16" for pool in demand.pools)
            yield finding(
                "AWS006",
                ("target", "network", "privateSubnets", demand.zone),
                f"subnet {entry['SubnetId']} has {free:,} {noun}; the pools need {need:,} in {demand.zone} at maxSize "
                f"(pods {parts}; {demand.singles - AWS_RESERVED:,} for interfaces and the control plane)",
                "Use a larger subnet, lower `maxSize`, or move pools to other zones with `nodePools[].zones`.",
            )
