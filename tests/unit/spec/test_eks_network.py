"""What the checks say of the region, the zones, the network and the access of an eks target."""

import json
from typing import Any

import pytest

from mlcluster.catalog.eks import eks_versions
from mlcluster.spec.checks.eks_network import eks_network_problems
from tests.eks_contexts import OWN_VPC, eks_spec
from tests.specs import LOCAL, SYSTEM, checked, cluster

pytestmark = pytest.mark.unit

ROLE = "arn:aws:iam::111122223333:role/platform"
KEY = "arn:aws:kms:us-east-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"


def found(**target: Any) -> list[tuple[str, str, str]]:
    """Place (dots), message and hint of every problem."""
    problems = eks_network_problems(eks_spec(**target))
    return [(".".join(map(str, one.loc)), one.message, one.hint) for one in problems]


@pytest.mark.parametrize(
    "target",
    [
        {},
        {"zones": ["us-west-2a", "us-west-2d"]},
        {"network": OWN_VPC},
        {"network": OWN_VPC, "zones": ["us-west-2b", "us-west-2a"]},
        {"network": {"cidr": "100.64.0.0/16", "nat": "perZone", "endpoints": ["s3", "ecr"]}},
        {"network": {"cidr": "10.0.0.0/24"}},
        {"endpoint": {"publicCidrs": ["203.0.113.0/24", "8.8.8.0/24"]}},
        {"endpoint": {"publicCidrs": ["0.0.0.0/0"]}},
        {"endpoint": {"public": False}},
        {"access": {"admins": [ROLE, ROLE], "ci": ROLE}},
        {"secretsKey": KEY.replace("us-east-1", "us-west-2")},
        *({"kubernetesVersion": minor} for minor in eks_versions()),
    ],
    ids=json.dumps,
)
def test_nothing_to_say(target: dict[str, Any]) -> None:
    assert found(**target) == []


def test_other_targets_are_none_of_its_business() -> None:
    assert list(eks_network_problems(checked(cluster(SYSTEM, target=LOCAL)))) == []


@pytest.mark.parametrize(
    ("target", "place", "message", "hint"),
    [
        ({"region": "us-wset-2"}, "target.region", "knows no AWS region us-wset-2", "did you mean us-west-2?"),
        ({"kubernetesVersion": "1.29"}, "target.kubernetesVersion", "EKS 1.29", "1.34"),
        (
            {"zones": ["us-west-2a", "us-east-1b"]},
            "target.zones.1",
            "us-east-1b is not a zone of us-west-2",
            "did you mean us-west-2b?",
        ),
        ({"zones": ["us-west-2a", "us-west-2a"]}, "target.zones.1", "us-west-2a is given twice", "once"),
        ({"logs": ["api", "audit", "api"]}, "target.logs.2", "api is given twice", "once"),
        ({"network": {"endpoints": ["s3", "s3"]}}, "target.network.endpoints.1", "s3 is given twice", "once"),
        ({"network": {"vpcId": "vpc-0a1"}}, "target.network", "there are 0", "privateSubnets"),
        (
            {"network": {"vpcId": "vpc-0a1", "privateSubnets": {"us-west-2a": "subnet-0a"}}},
            "target.network",
            "there are 1",
            "privateSubnets",
        ),
        (
            {"network": {"privateSubnets": {"us-west-2a": "subnet-0a", "us-west-2b": "subnet-0b"}}},
            "target.network.privateSubnets",
            "not the VPC",
            "add vpcId",
        ),
        (
            {"network": {"publicSubnets": {"us-west-2a": "subnet-0a"}}},
            "target.network.publicSubnets",
            "not the VPC",
            "add vpcId",
        ),
        ({"network": {**OWN_VPC, "cidr": "10.0.0.0/16"}}, "target.network.cidr", "there already", "leave cidr out"),
        ({"network": {**OWN_VPC, "nat": "one"}}, "target.network.nat", "there already", "leave nat out"),
        ({"network": {**OWN_VPC, "endpoints": []}}, "target.network.endpoints", "there already", "leave endpoints out"),
        (
            {"network": OWN_VPC, "zones": ["us-west-2a", "us-west-2b", "us-west-2c"]},
            "target.zones.2",
            "no subnet in us-west-2c",
            "add it there",
        ),
        (
            {"network": {**OWN_VPC, "publicSubnets": {"us-west-2d": "subnet-0d"}}},
            "target.network.publicSubnets.us-west-2d",
            "not one of the cluster's zones (us-west-2a, us-west-2b)",
            "add it",
        ),
        (
            {"network": {**OWN_VPC, "publicSubnets": {"us-west-2a": "subnet-0b"}}},
            "target.network.publicSubnets.us-west-2a",
            "subnet-0b stands here more than once",
            "of its own",
        ),
        (
            {"network": {**OWN_VPC, "publicSubnets": {"us-east-1a": "subnet-0d"}}},
            "target.network.publicSubnets.us-east-1a",
            "us-east-1a is not a zone of us-west-2",
            "us-west-2a",
        ),
        ({"network": {"cidr": "10.0.0.1/16"}}, "target.network.cidr", "inside a range", "did you mean 10.0.0.0/16?"),
        ({"network": {"cidr": "10.0.300.0/16"}}, "target.network.cidr", "not an IPv4 range", "10.0.0.0/16"),
        ({"network": {"cidr": "10.0.0.0/12"}}, "target.network.cidr", "a /16 to a /28", "10.0.0.0/16"),
        ({"network": {"cidr": "10.0.0.0/29"}}, "target.network.cidr", "a /16 to a /28", "10.0.0.0/16"),
        ({"network": {"cidr": "8.8.0.0/16"}}, "target.network.cidr", "not a private range", "10.0.0.0/8"),
        ({"network": {"cidr": "10.0.0.0/25"}}, "target.network.cidr", "too small", "10.0.0.0/16"),
        ({"endpoint": {"private": False, "public": False}}, "target.endpoint", "nobody reaches it", "private: true"),
        (
            {"endpoint": {"public": False, "publicCidrs": ["203.0.113.0/24"]}},
            "target.endpoint.publicCidrs",
            "which is off",
            "public: true",
        ),
        (
            {"endpoint": {"publicCidrs": ["203.0.113.7/24"]}},
            "target.endpoint.publicCidrs.0",
            "inside a range",
            "did you mean 203.0.113.0/24?",
        ),
        ({"endpoint": {"publicCidrs": ["10.0.0.0/8"]}}, "target.endpoint.publicCidrs.0", "not public", "internet"),
        ({"endpoint": {"publicCidrs": ["fd00::/8"]}}, "target.endpoint.publicCidrs.0", "IPv6", "IPv4"),
        ({"endpoint": {"publicCidrs": ["1.2.3/33"]}}, "target.endpoint.publicCidrs.0", "not an address range", "203"),
        (
            {"endpoint": {"publicCidrs": ["203.0.113.0/24", "203.0.113.0/24"]}},
            "target.endpoint.publicCidrs.1",
            "given twice",
            "once",
        ),
        (
            {"access": {"admins": [ROLE], "viewers": [ROLE]}},
            "target.access.viewers.0",
            "under access.admins too",
            "one of the two",
        ),
        (
            {"access": {"ci": ROLE, "viewers": [ROLE]}},
            "target.access.viewers.0",
            "under access.ci too",
            "one of the two",
        ),
        ({"secretsKey": KEY}, "target.secretsKey", "the key is in us-east-1", "cluster's region"),
    ],
)
def test_one_thing_wrong_is_told_once_with_its_place(
    target: dict[str, Any], place: str, message: str, hint: str
) -> None:
    told = [entry for entry in found(**target) if entry[0] == place]
    assert len(told) == 1, found(**target)
    assert message in told[0][1]
    assert hint in told[0][2]


def test_an_unknown_region_is_not_blamed_on_its_zones() -> None:
    assert [place for place, *_ in found(region="us-wset-2")] == ["target.region"]


def test_all_problems_come_at_once() -> None:
    target = {"kubernetesVersion": "1.29", "network": {"cidr": "8.8.0.0/16"}, "endpoint": {"publicCidrs": ["::/0"]}}
    assert len(found(**target)) == 3
