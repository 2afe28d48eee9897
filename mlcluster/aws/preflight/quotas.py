"""Check that the service quotas of the account cover every pool at its maximum size."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from mlcluster.aws.preflight.facts import Facts, joined
from mlcluster.aws.preflight.report import Outcome
from mlcluster.aws.refusals import AwsError, NotAllowedError
from mlcluster.catalog.instances import instance_type
from mlcluster.catalog.quotas import vcpu_quota
from mlcluster.findings import Finding, finding

ELASTIC_IPS = "L-0263D0A3"
"""Quota code of "EC2-VPC Elastic IPs" (Service Quotas, service ec2)."""


@dataclass(frozen=True, slots=True)
class Need:
    """What the pools of one quota need together.

    Attributes:
        vcpus: of all of them at maxSize.
        parts: "train 8 x 192", one a pool.
        first: index of the first pool, where a finding points.
    """

    code: str
    vcpus: int
    parts: tuple[str, ...]
    first: int


def needs(facts: Facts) -> tuple[Need, ...]:
    """The vCPUs of each quota, on demand and spot apart.

    A capacity reservation takes from the on-demand quota of its owner when it is made (EC2 API reference,
    CreateCapacityReservation), so its pool is counted once, as on demand. A capacity block is taken not to count; no
    page that says so could be read when this was written.
    """
    found_needs: dict[str, Need] = {}
    for index, pool in enumerate(facts.pools):
        if pool.capacity_type == "capacityBlock":
            continue
        spot = pool.capacity_type == "spot"
        counted = vcpu_quota(pool.instance_type, spot=spot)
        if counted is None:
            continue
        code = counted.code
        same = [name for name in facts.types_of(pool) if vcpu_quota(name, spot=spot) == counted]
        vcpus = max(instance_type(name).vcpu for name in same)
        before = found_needs.get(code, Need(code, 0, (), index))
        part = f"{pool.name} {pool.max_size} x {vcpus}"
        total = before.vcpus + pool.max_size * vcpus
        found_needs[code] = Need(code, total, (*before.parts, part), before.first)
    return tuple(found_needs.values())


def vcpus(facts: Facts) -> Outcome:
    """AWS004: the quota of a family is below what its pools need at maxSize."""
    told: list[str] = []
    problems: list[Finding] = []
    unknown = [pool.name for pool in facts.pools if _unknown_family(pool.instance_type, pool.capacity_type)]
    for need in needs(facts):
        quota = _quota(facts, need.code)
        limit, name = int(quota["Value"]), quota.get("QuotaName", need.code)
        used = _used(facts, quota)
        told.append(f"{name}: {need.vcpus:,} of {limit:,} vCPUs wanted{_in_use(used)}")
        others = 0 if used is None or facts.exists_already else used
        if need.vcpus + others > limit:
            problems.append(_below(facts, need, name, limit, others))
    blocks = [pool.name for pool in facts.pools if pool.capacity_type == "capacityBlock"]
    if blocks:
        told.append(f"not counted: capacity blocks ({joined(blocks)})")
    if unknown:
        told.append(f"not counted: {joined(unknown)}, whose family has no quota in the catalogue")
    return Outcome("; ".join(told), tuple(problems), needed=bool(told))


def _unknown_family(name: str, capacity_type: str) -> bool:
    return capacity_type != "capacityBlock" and vcpu_quota(name, spot=capacity_type == "spot") is None


def _in_use(used: int | None) -> str:
    return " (what runs already is not counted)" if used is None else f" ({used:,} in use now)"


def _below(facts: Facts, need: Need, name: str, limit: int, others: int) -> Finding:
    busy = f" beside {others:,} that others use" if others else ""
    return finding(
        "AWS004",
        ("nodePools", need.first, "maxSize"),
        f'the quota "{name}" is {limit:,} vCPUs; the pools need {need.vcpus:,} at maxSize{busy} '
        f"({' + '.join(need.parts)})",
        f"ask for more: aws service-quotas request-service-quota-increase --service-code ec2 --quota-code {need.code} "
        f"--desired-value {need.vcpus + others} --region {facts.account.region}; or lower maxSize",
    )


def _quota(facts: Facts, code: str) -> dict[str, Any]:
    """The account's value, or AWS's default where the account has none of its own."""
    try:
        answer = facts.account.ask("service-quotas", "GetServiceQuota", ServiceCode="ec2", QuotaCode=code)
    except AwsError as error:
        if error.code != "NoSuchResourceException":
            raise
        answer = facts.account.ask("service-quotas", "GetAWSDefaultServiceQuota", ServiceCode="ec2", QuotaCode=code)
    quota: dict[str, Any] = answer["Quota"]
    return quota


def _used(facts: Facts, quota: Mapping[str, Any]) -> int | None:
    """What CloudWatch counted in the last hour, or None when it does not say."""
    metric = quota.get("UsageMetric") or {}
    if not metric.get("MetricName"):
        return None
    try:
        answer = facts.account.ask(
            "cloudwatch",
            "GetMetricStatistics",
            Namespace=metric["MetricNamespace"],
            MetricName=metric["MetricName"],
            Dimensions=[{"Name": key, "Value": value} for key, value in metric.get("MetricDimensions", {}).items()],
            StartTime=facts.now - timedelta(hours=1),
            EndTime=facts.now,
            Period=300,
            Statistics=["Maximum"],
        )
    except NotAllowedError:
        return None
    points = sorted(answer["Datapoints"], key=lambda point: point["Timestamp"])
    return int(points[-1]["Maximum"]) if points else 0


def elastic_ips(facts: Facts) -> Outcome:
    """AWS004: fewer Elastic IPs left than the NAT gateways need."""
    wanted = len(facts.resources("Eip"))
    if not wanted:
        return Outcome("the plan has no Elastic IPs", needed=False)
    limit = int(_quota(facts, ELASTIC_IPS)["Value"])
    listed = facts.account.ask("ec2", "DescribeAddresses")["Addresses"]
    ours = facts.context.tags
    others = [address for address in listed if not ours.items() <= _tags(address).items()]
    evidence = f"{wanted} wanted for NAT; {len(others)} of {limit} are in use by others"
    if len(others) + wanted <= limit:
        return Outcome(evidence)
    message = f"the quota of Elastic IPs is {limit}, {len(others)} are in use by others, the NAT gateways need {wanted}"
    hint = f"network.nat: one needs a single one; or release some, or ask for more (quota code {ELASTIC_IPS})"
    return Outcome(evidence, (finding("AWS004", ("target", "network", "nat"), message, hint),))


def _tags(entry: Mapping[str, Any]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in entry.get("Tags", [])}
