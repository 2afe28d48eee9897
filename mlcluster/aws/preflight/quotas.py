"""Check that the service quotas of the account cover every pool at its maximum size."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from mlcluster.aws.errors import AwsError, NotAllowedError
from mlcluster.aws.preflight.facts import Facts, joined
from mlcluster.aws.preflight.report import Outcome
from mlcluster.catalog.instances import instance_type
from mlcluster.catalog.quotas import vcpu_quota
from mlcluster.findings import Finding, finding

ELASTIC_IPS = "L-0263D0A3"
"""Quota code of "EC2-VPC Elastic IPs" (Service Quotas, service ec2)."""


@dataclass(frozen=True, slots=True)
class Need:
    """The vCPUs that the pools of one quota need together.

    Attributes:
        vcpus: the vCPUs of all pools at maxSize.
        parts: one text for each pool, such as "train 8 x 192".
        first: index of the first pool, the place of a finding.
    """

    code: str
    vcpus: int
    parts: tuple[str, ...]
    first: int


def needs(facts: Facts) -> tuple[Need, ...]:
    """Return the vCPUs that the pools need from each quota; on-demand and spot have separate quotas.

    A capacity reservation counts against the on-demand quota of its owner when it is created (EC2 API reference,
    CreateCapacityReservation), so its pool counts once, as on-demand. Capacity blocks are assumed not to count; no
    AWS page was found that confirms this.
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
    """Check AWS004: the vCPU quota of each instance family covers its pools at maxSize."""
    told: list[str] = []
    problems: list[Finding] = []
    unknown = [pool.name for pool in facts.pools if _unknown_family(pool.instance_type, pool.capacity_type)]
    for need in needs(facts):
        quota = _quota(facts, need.code)
        limit, name = int(quota["Value"]), quota.get("QuotaName", need.code)
        used = _used(facts, quota)
        told.append(f"{name}: {need.vcpus:,} of {limit:,} vCPUs needed{_in_use(used)}")
        others = 0 if used is None or facts.exists_already else used
        if need.vcpus + others > limit:
            problems.append(_below(facts, need, name, limit, others))
    blocks = [pool.name for pool in facts.pools if pool.capacity_type == "capacityBlock"]
    if blocks:
        told.append(f"not counted: capacity blocks ({joined(blocks)})")
    if unknown:
        told.append(f"not counted: {joined(unknown)}, whose family has no quota in the catalog")
    return Outcome("; ".join(told), tuple(problems), needed=bool(told))


def _unknown_family(name: str, capacity_type: str) -> bool:
    return capacity_type != "capacityBlock" and vcpu_quota(name, spot=capacity_type == "spot") is None


def _in_use(used: int | None) -> str:
    return " (current usage unknown, not counted)" if used is None else f" ({used:,} in use now)"


def _below(facts: Facts, need: Need, name: str, limit: int, others: int) -> Finding:
    busy = f" in addition to {others:,} already in use" if others else ""
    return finding(
        "AWS004",
        ("nodePools", need.first, "maxSize"),
        f'the quota "{name}" is {limit:,} vCPUs; the pools need {need.vcpus:,} at maxSize{busy} '
        f"({' + '.join(need.parts)})",
        f"Run `aws service-quotas request-service-quota-increase --service-code ec2 --quota-code {need.code} "
        f"--desired-value {need.vcpus + others} --region {facts.account.region}`, or lower `maxSize`.",
    )


def _quota(facts: Facts, code: str) -> dict[str, Any]:
    """Return the quota of the account, or the AWS default if the account has no quota of its own."""
    try:
        answer = facts.account.ask("service-quotas", "GetServiceQuota", ServiceCode="ec2", QuotaCode=code)
    except AwsError as error:
        if error.code != "NoSuchResourceException":
            raise
        answer = facts.account.ask("service-quotas", "GetAWSDefaultServiceQuota", ServiceCode="ec2", QuotaCode=code)
    quota: dict[str, Any] = answer["Quota"]
    return quota


def _used(facts: Facts, quota: Mapping[str, Any]) -> int | None:
    """Return the latest usage that CloudWatch measured in the last hour; None if it is unknown."""
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
    """Check AWS004: enough Elastic IPs are left for the NAT gateways."""
    wanted = len(facts.resources("Eip"))
    if not wanted:
        return Outcome("the plan has no Elastic IPs", needed=False)
    limit = int(_quota(facts, ELASTIC_IPS)["Value"])
    listed = facts.account.ask("ec2", "DescribeAddresses")["Addresses"]
    managed = facts.context.tags
    others = [address for address in listed if not managed.items() <= _tags(address).items()]
    evidence = f"{wanted} needed for NAT; {len(others)} of {limit} used outside this cluster"
    if len(others) + wanted <= limit:
        return Outcome(evidence)
    message = (
        f"the quota of Elastic IPs is {limit}, of which {len(others)} are used outside this cluster; "
        f"the NAT gateways need {wanted}"
    )
    hint = f"Set `network.nat: one`, which needs one Elastic IP, release some, or increase quota {ELASTIC_IPS}."
    return Outcome(evidence, (finding("AWS004", ("target", "network", "nat"), message, hint),))


def _tags(entry: Mapping[str, Any]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in entry.get("Tags", [])}
