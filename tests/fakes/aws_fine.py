"""A constructed AWS account without problems, and the spec and plan for its checks."""

from datetime import UTC, datetime
from typing import Any

from mlcluster.aws.preflight.facts import Facts
from mlcluster.plan.eks.context import EksContext
from mlcluster.plan.model import Plan, PlanResource
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.eks import EksTarget
from tests.fakes.aws_responses import ACCOUNT, CALLER, Answer, Answers, Parameters, Refused
from tests.specs import SYSTEM, Data, cluster, planned_unchecked

NOW = datetime(2026, 11, 2, 12, 0, tzinfo=UTC)
ZONES = ("us-west-2a", "us-west-2b", "us-west-2c")
EKS: Data = {"kind": "eks", "region": "us-west-2", "kubernetesVersion": "1.34", "accountId": ACCOUNT}
EFA: Data = {
    "name": "train",
    "instanceType": "p5.48xlarge",
    "maxSize": 8,
    "zones": ["us-west-2b"],
    "network": {"efa": True},
}
OURS = {"app.kubernetes.io/managed-by": "mlcluster", "mlcluster.dev/cluster": "atlas"}


def spec_of(*pools: Data, target: Data | None = None, **rest: Any) -> ClusterSpec:
    """An eks spec of these pools (default: a CPU pool and an EFA pool), not checked."""
    return ClusterSpec.model_validate(cluster(*(pools or (SYSTEM, EFA)), target={**EKS, **(target or {})}, **rest))


def plan_of(*pools: Data, target: Data | None = None, resources: tuple[PlanResource, ...] = (), **rest: Any) -> Plan:
    """Its plan, with no other AWS resources than these."""
    from dataclasses import replace

    plan = planned_unchecked(*(pools or (SYSTEM, EFA)), target={**EKS, **(target or {})}, **rest)
    return replace(plan, resources=resources)


def facts_of(
    answers: Answers, *pools: Data, target: Data | None = None, resources: tuple[PlanResource, ...] = (), **rest: Any
) -> Facts:
    """Return the inputs of a check."""
    spec = spec_of(*pools, target=target, **rest)
    plan = plan_of(*pools, target=target, resources=resources, **rest)
    assert isinstance(spec.target, EksTarget)
    return Facts(answers.account(), spec, spec.target, plan, NOW, EksContext(spec, spec.target, plan.pools))


def made(token: str, name: str, *, pool: str = "", **inputs: Any) -> PlanResource:
    """A resource of the plan: ("aws:ec2/eip:Eip", "nat-a", ...)."""
    return PlanResource(f"{token.rpartition(':')[2]}/{name}", token, inputs, (), ("target",), pool=pool)


def zone(name: str, **more: Any) -> Data:
    """A zone as DescribeAvailabilityZones has it: us-west-2b is usw2-az2."""
    number = "abcdef".index(name[-1]) + 1
    return {
        "ZoneName": name,
        "ZoneId": f"usw2-az{number}",
        "State": "available",
        "ZoneType": "availability-zone",
        "RegionName": "us-west-2",
        **more,
    }


def quota(value: float, name: str = "Running On-Demand Standard instances", **more: Any) -> Data:
    """A quota as Service Quotas has it."""
    return {"Quota": {"ServiceCode": "ec2", "QuotaName": name, "Value": value, **more}}


def _offerings(parameters: Parameters) -> Answer:
    types = parameters["Filters"][0]["Values"]
    found = [
        {"InstanceType": name, "LocationType": "availability-zone", "Location": at} for name in types for at in ZONES
    ]
    return {"InstanceTypeOfferings": found}


def network_of(efa: int, cards: int, **more: Any) -> Data:
    """An instance type's network as DescribeInstanceTypes has it."""
    return {
        "EfaSupported": efa > 0,
        "EfaInfo": {"MaximumEfaInterfaces": efa},
        "MaximumNetworkCards": cards,
        "NetworkCards": [{"NetworkCardIndex": index, "MaximumNetworkInterfaces": 2} for index in range(cards)],
        **more,
    }


def _role(parameters: Parameters) -> Answer:
    name = parameters["RoleName"]
    return {
        "Role": {
            "Path": "/",
            "RoleName": name,
            "RoleId": "AROA00000000000000000",
            "Arn": f"arn:aws:iam::{ACCOUNT}:role/{name}",
            "CreateDate": NOW,
        }
    }


def fine() -> Answers:
    """Return responses without problems to all requests of a preflight of these pools."""
    version = {"clusterVersion": "1.34", "versionStatus": "STANDARD_SUPPORT", "endOfStandardSupportDate": NOW}
    return (
        Answers()
        .on("sts", "GetCallerIdentity", {"Account": ACCOUNT, "Arn": CALLER, "UserId": "X"})
        .on("eks", "DescribeCluster", Refused("ResourceNotFoundException", status=404))
        .on("eks", "DescribeClusterVersions", {"clusterVersions": [version]})
        .on("eks", "DescribeAddonVersions", {"addons": []})
        .on("ssm", "GetParameter", {"Parameter": {"Name": "x", "Value": "ami-0123456789abcdef0"}})
        .on("ec2", "DescribeAvailabilityZones", {"AvailabilityZones": [zone(name) for name in ZONES]})
        .on("ec2", "DescribeInstanceTypeOfferings", _offerings)
        .on("service-quotas", "GetServiceQuota", quota(5000))
        .on("ec2", "DescribeAddresses", {"Addresses": []})
        .on(
            "ec2",
            "DescribeInstanceTypes",
            {"InstanceTypes": [{"InstanceType": "p5.48xlarge", "NetworkInfo": network_of(32, 32)}]},
        )
        .on("iam", "GetRole", _role)
    )
