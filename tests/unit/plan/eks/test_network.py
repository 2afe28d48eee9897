"""The network of eks: a whole VPC, or nothing at all."""

import pytest

from mlcluster.plan.eks.network import egress_dependencies, network_resources, public_subnet, vpc_id
from mlcluster.plan.values import Ref
from tests.eks_contexts import OWN_VPC, ZONES, by_id, eks_context

pytestmark = pytest.mark.unit

PRIVATE_TABLES = [f"RouteTable/private-{zone}" for zone in ZONES]


def test_a_new_vpc_has_dns_and_everything_of_it_is_tagged() -> None:
    context = eks_context()
    made = by_id(network_resources(context))
    vpc = made["Vpc/atlas"].inputs
    assert (vpc["cidrBlock"], vpc["enableDnsSupport"], vpc["enableDnsHostnames"]) == ("10.0.0.0/16", True, True)
    assert vpc_id(context) == Ref("Vpc/atlas", "id")
    without_tags = {"Route", "RouteTableAssociation", "SubnetCidrReservation"}
    for entry in made.values():
        assert entry.id.partition("/")[0] in without_tags or entry.inputs["tags"].items() >= context.tags.items()


def test_every_reference_leads_to_something_made_before() -> None:
    made = network_resources(eks_context(network={"nat": "perZone", "endpoints": ["s3", "ecr"]}))
    seen: set[str] = set()
    for entry in made:
        assert set(entry.needs) <= seen, entry.id
        seen.add(entry.id)


@pytest.mark.parametrize(
    ("nat", "gateways"),
    [("none", [None, None, None]), ("one", [ZONES[0]] * 3), ("perZone", list(ZONES))],
)
def test_nat_decides_where_each_private_table_leads(nat: str, gateways: list[str | None]) -> None:
    made = by_id(network_resources(eks_context(network={"nat": nat})))
    for zone, gateway in zip(ZONES, gateways, strict=True):
        route = made.get(f"Route/private-{zone}")
        assert (route.inputs["natGatewayId"] if route else None) == (
            Ref(f"NatGateway/{gateway}", "id") if gateway else None
        )
    distinct = {gateway for gateway in gateways if gateway}
    assert {name for name in made if name.startswith("Eip/")} == {f"Eip/nat-{zone}" for zone in distinct}
    for zone in distinct:
        entry = made[f"NatGateway/{zone}"]
        assert entry.inputs["subnetId"] == Ref(f"Subnet/public-{zone}", "id")
        assert "InternetGateway/atlas" in entry.needs


def test_public_subnets_lead_to_the_internet() -> None:
    made = by_id(network_resources(eks_context()))
    assert made["Route/public"].inputs["gatewayId"] == Ref("InternetGateway/atlas", "id")
    for zone in ZONES:
        assert made[f"RouteTableAssociation/public-{zone}"].inputs["routeTableId"] == Ref("RouteTable/public", "id")
        private = made[f"RouteTableAssociation/private-{zone}"].inputs
        assert private["routeTableId"] == Ref(f"RouteTable/private-{zone}", "id")


def test_s3_is_a_gateway_and_the_others_are_interfaces_behind_https_from_the_vpc() -> None:
    words = ["s3", "ecr", "sts", "ec2", "efs", "eks", "eksAuth", "logs", "autoscaling", "sqs"]
    made = by_id(network_resources(eks_context(network={"endpoints": words})))
    gateway = made["VpcEndpoint/s3"].inputs
    assert (gateway["vpcEndpointType"], gateway["serviceName"]) == ("Gateway", "com.amazonaws.us-west-2.s3")
    assert gateway["routeTableIds"] == [Ref(table, "id") for table in PRIVATE_TABLES]
    interfaces = {
        entry.inputs["serviceName"]: entry.inputs for entry in made.values() if entry.id[:12] == "VpcEndpoint/"
    }
    services = [
        "ecr.api",
        "ecr.dkr",
        "sts",
        "ec2",
        "elasticfilesystem",
        "eks",
        "eks-auth",
        "logs",
        "autoscaling",
        "sqs",
    ]
    assert set(interfaces) == {f"com.amazonaws.us-west-2.{service}" for service in [*services, "s3"]}
    for service in services:
        inputs = interfaces[f"com.amazonaws.us-west-2.{service}"]
        assert inputs["privateDnsEnabled"] is True
        assert inputs["securityGroupIds"] == [Ref("SecurityGroup/atlas-endpoints", "id")]
        assert inputs["subnetIds"] == [Ref(f"Subnet/private-{zone}", "id") for zone in ZONES]
    rule = made["SecurityGroup/atlas-endpoints"].inputs["ingress"][0]
    assert (rule["fromPort"], rule["toPort"], rule["cidrBlocks"]) == (443, 443, ["10.0.0.0/16"])


def test_without_interfaces_there_is_no_security_group() -> None:
    made = by_id(network_resources(eks_context(network={"endpoints": []})))
    assert not [name for name in made if name.startswith(("SecurityGroup/", "VpcEndpoint/"))]


def test_nodes_wait_for_every_route_out_of_the_vpc() -> None:
    ways = set(egress_dependencies(eks_context()))
    assert ways >= {f"Route/private-{zone}" for zone in ZONES} | {"VpcEndpoint/s3"}
    assert {f"RouteTableAssociation/private-{zone}" for zone in ZONES} <= ways


def test_in_an_existing_vpc_nothing_is_created() -> None:
    context = eks_context(network=OWN_VPC)
    assert network_resources(context) == []
    assert egress_dependencies(context) == ()
    assert vpc_id(context) == "vpc-0a1"
    assert public_subnet(context, "us-west-2a") == "subnet-0c"
    assert public_subnet(context, "us-west-2b") is None
