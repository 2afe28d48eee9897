"""Subnets of eks: their tags, the blocks for prefixes, and where they are found."""

from ipaddress import IPv4Network

import pytest

from mlcluster.plan.eks.subnets import cluster_subnets, node_subnet, node_subnets, public_subnet, subnet_resources
from mlcluster.plan.values import Ref
from tests.eks_contexts import OWN_VPC, ZONES, by_id, eks_context

pytestmark = pytest.mark.unit


def test_a_private_and_a_public_subnet_in_each_zone() -> None:
    made = by_id(subnet_resources(eks_context()))
    subnets = {name: entry.inputs for name, entry in made.items() if name.startswith("Subnet/")}
    assert list(subnets) == [f"Subnet/{kind}-{zone}" for kind in ("private", "public") for zone in ZONES]
    assert [entry["cidrBlock"] for entry in subnets.values()] == [
        *("10.0.0.0/18", "10.0.64.0/18", "10.0.128.0/18"),
        *("10.0.192.0/24", "10.0.193.0/24", "10.0.194.0/24"),
    ]
    assert {entry["availabilityZone"] for entry in subnets.values()} == set(ZONES)
    assert not any(entry["mapPublicIpOnLaunch"] for entry in subnets.values())


def test_subnets_have_the_tags_of_load_balancers_and_karpenter() -> None:
    made = by_id(subnet_resources(eks_context()))
    private, public = made["Subnet/private-us-west-2b"].inputs["tags"], made["Subnet/public-us-west-2b"].inputs["tags"]
    assert private["kubernetes.io/role/internal-elb"] == "1"
    assert private["karpenter.sh/discovery"] == "atlas"
    assert private["mlcluster.dev/zone"] == public["mlcluster.dev/zone"] == "us-west-2b"
    assert public["kubernetes.io/role/elb"] == "1"
    assert "karpenter.sh/discovery" not in public


def test_three_quarters_of_a_private_subnet_are_kept_for_prefixes() -> None:
    made = by_id(subnet_resources(eks_context()))
    blocks = [
        entry.inputs for name, entry in made.items() if name.startswith("SubnetCidrReservation/private-us-west-2a")
    ]
    assert [block["cidrBlock"] for block in blocks] == ["10.0.16.0/20", "10.0.32.0/19"]
    assert {block["reservationType"] for block in blocks} == {"prefix"}
    assert {block["subnetId"] for block in blocks} == {Ref("Subnet/private-us-west-2a", "id")}
    whole = IPv4Network("10.0.0.0/18")
    assert all(IPv4Network(block["cidrBlock"]).subnet_of(whole) for block in blocks)


def test_pools_do_not_change_the_subnets() -> None:
    small = subnet_resources(eks_context({"name": "one", "instanceType": "m7i.large", "maxSize": 1}))
    assert small == subnet_resources(eks_context({"name": "one", "instanceType": "m7i.large", "maxSize": 500}))


def test_nodes_and_control_plane_are_in_private_subnets() -> None:
    context = eks_context()
    assert node_subnet(context, "us-west-2c") == Ref("Subnet/private-us-west-2c", "id")
    assert cluster_subnets(context) == [Ref(f"Subnet/private-{zone}", "id") for zone in ZONES]
    assert public_subnet(context, "us-west-2c") == Ref("Subnet/public-us-west-2c", "id")


def test_an_existing_vpc_has_the_subnets_of_the_spec() -> None:
    context = eks_context(network=OWN_VPC)
    assert cluster_subnets(context) == ["subnet-0a", "subnet-0b"]
    assert node_subnets(context, ("us-west-2b",)) == ["subnet-0b"]
    with pytest.raises(KeyError):
        node_subnet(context, "us-west-2c")


def test_a_range_that_is_too_small_is_not_cut() -> None:
    with pytest.raises(ValueError, match="too small for 3 zones"):
        subnet_resources(eks_context(network={"cidr": "10.0.0.0/26"}))
