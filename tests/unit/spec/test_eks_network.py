"""The checks of the region, the zones, the network and the access of the `eks` target."""

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
    """Return place (dots), message and hint of every problem."""
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
def test_a_valid_network_has_no_problem(target: dict[str, Any]) -> None:
    assert found(**target) == []


def test_other_targets_are_not_checked() -> None:
    assert list(eks_network_problems(checked(cluster(SYSTEM, target=LOCAL)))) == []


@pytest.mark.parametrize(
    ("target", "place", "message", "hint"),
    [
        ({"region": "us-wset-2"}, "target.region", "unknown AWS region us-wset-2", "Did you mean us-west-2?"),
        ({"kubernetesVersion": "1.29"}, "target.kubernetesVersion", "unsupported Kubernetes version 1.29", "1.34"),
        (
            {"zones": ["us-west-2a", "us-east-1b"]},
            "target.zones.1",
            "us-east-1b is not a zone of us-west-2",
            "Did you mean us-west-2b?",
        ),
        ({"zones": ["us-west-2a", "us-west-2a"]}, "target.zones.1", "duplicate value us-west-2a", "one of the two"),
        ({"logs": ["api", "audit", "api"]}, "target.logs.2", "duplicate value api", "one of the two"),
        (
            {"network": {"endpoints": ["s3", "s3"]}},
            "target.network.endpoints.1",
            "duplicate value s3",
            "one of the two",
        ),
        ({"network": {"vpcId": "vpc-0a1"}}, "target.network", "at least two zones with vpcId, got 0", "privateSubnets"),
        (
            {"network": {"vpcId": "vpc-0a1", "privateSubnets": {"us-west-2a": "subnet-0a"}}},
            "target.network",
            "at least two zones with vpcId, got 1",
            "privateSubnets",
        ),
        (
            {"network": {"privateSubnets": {"us-west-2a": "subnet-0a", "us-west-2b": "subnet-0b"}}},
            "target.network.privateSubnets",
            "needs vpcId",
            "Add `vpcId`",
        ),
        (
            {"network": {"publicSubnets": {"us-west-2a": "subnet-0a"}}},
            "target.network.publicSubnets",
            "needs vpcId",
            "Add `vpcId`",
        ),
        ({"network": {**OWN_VPC, "cidr": "10.0.0.0/16"}}, "target.network.cidr", "cidr has no effect", "Remove `cidr`"),
        ({"network": {**OWN_VPC, "nat": "one"}}, "target.network.nat", "nat has no effect", "Remove `nat`"),
        (
            {"network": {**OWN_VPC, "endpoints": []}},
            "target.network.endpoints",
            "endpoints has no effect",
            "Remove `endpoints`",
        ),
        (
            {"network": OWN_VPC, "zones": ["us-west-2a", "us-west-2b", "us-west-2c"]},
            "target.zones.2",
            "no subnet in us-west-2c",
            "Add the subnet",
        ),
        (
            {"network": {**OWN_VPC, "publicSubnets": {"us-west-2d": "subnet-0d"}}},
            "target.network.publicSubnets.us-west-2d",
            "not a zone of the cluster (us-west-2a, us-west-2b)",
            "Add it",
        ),
        (
            {"network": {**OWN_VPC, "publicSubnets": {"us-west-2a": "subnet-0b"}}},
            "target.network.publicSubnets.us-west-2a",
            "duplicate subnet subnet-0b",
            "separate private and public subnets",
        ),
        (
            {"network": {**OWN_VPC, "publicSubnets": {"us-east-1a": "subnet-0d"}}},
            "target.network.publicSubnets.us-east-1a",
            "us-east-1a is not a zone of us-west-2",
            "us-west-2a",
        ),
        ({"network": {"cidr": "10.0.0.1/16"}}, "target.network.cidr", "inside a range", "Did you mean 10.0.0.0/16?"),
        (
            {"network": {"cidr": "10.0.300.0/16"}},
            "target.network.cidr",
            "expected an IPv4 address range",
            "10.0.0.0/16",
        ),
        ({"network": {"cidr": "10.0.0.0/12"}}, "target.network.cidr", "a range from /16 to /28", "10.0.0.0/16"),
        ({"network": {"cidr": "10.0.0.0/29"}}, "target.network.cidr", "a range from /16 to /28", "10.0.0.0/16"),
        ({"network": {"cidr": "8.8.0.0/16"}}, "target.network.cidr", "expected a private range", "10.0.0.0/8"),
        ({"network": {"cidr": "10.0.0.0/25"}}, "target.network.cidr", "too small", "10.0.0.0/16"),
        ({"endpoint": {"private": False, "public": False}}, "target.endpoint", "is not accessible", "private: true"),
        (
            {"endpoint": {"public": False, "publicCidrs": ["203.0.113.0/24"]}},
            "target.endpoint.publicCidrs",
            "the public endpoint is disabled",
            "public: true",
        ),
        (
            {"endpoint": {"publicCidrs": ["203.0.113.7/24"]}},
            "target.endpoint.publicCidrs.0",
            "inside a range",
            "Did you mean 203.0.113.0/24?",
        ),
        (
            {"endpoint": {"publicCidrs": ["10.0.0.0/8"]}},
            "target.endpoint.publicCidrs.0",
            "expected a public range",
            "public addresses",
        ),
        (
            {"endpoint": {"publicCidrs": ["fd00::/8"]}},
            "target.endpoint.publicCidrs.0",
            "expected an IPv4 range",
            "IPv4",
        ),
        (
            {"endpoint": {"publicCidrs": ["1.2.3/33"]}},
            "target.endpoint.publicCidrs.0",
            "expected an IP address range",
            "203",
        ),
        (
            {"endpoint": {"publicCidrs": ["203.0.113.0/24", "203.0.113.0/24"]}},
            "target.endpoint.publicCidrs.1",
            "duplicate range",
            "one of the two",
        ),
        (
            {"access": {"admins": [ROLE], "viewers": [ROLE]}},
            "target.access.viewers.0",
            "also in access.admins",
            "one of the two",
        ),
        (
            {"access": {"ci": ROLE, "viewers": [ROLE]}},
            "target.access.viewers.0",
            "also in access.ci",
            "one of the two",
        ),
        (
            {"secretsKey": KEY},
            "target.secretsKey",
            "expected a key in us-west-2, the region of the cluster, got us-east-1",
            "in that region",
        ),
    ],
)
def test_an_error_is_reported_once_with_its_place(target: dict[str, Any], place: str, message: str, hint: str) -> None:
    told = [entry for entry in found(**target) if entry[0] == place]
    assert len(told) == 1, found(**target)
    assert message in told[0][1]
    assert hint in told[0][2]


def test_an_unknown_region_is_not_blamed_on_its_zones() -> None:
    assert [place for place, *_ in found(region="us-wset-2")] == ["target.region"]


def test_all_problems_come_at_once() -> None:
    target = {"kubernetesVersion": "1.29", "network": {"cidr": "8.8.0.0/16"}, "endpoint": {"publicCidrs": ["::/0"]}}
    assert len(found(**target)) == 3
