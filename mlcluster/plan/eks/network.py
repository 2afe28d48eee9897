"""The network: a new VPC with its outbound routes; no resources if the spec has an existing VPC."""

from mlcluster.plan.eks.context import EksContext, resource, resource_id
from mlcluster.plan.eks.endpoints import endpoint_resources
from mlcluster.plan.eks.subnets import (
    SPEC_PATH,
    SUBNET,
    VPC,
    cluster_subnets,
    node_subnet,
    node_subnets,
    public_subnet,
    subnet_resources,
    vpc_id,
)
from mlcluster.plan.model import Manifest, PlanResource
from mlcluster.plan.values import Ref
from mlcluster.spec.document import Loc

__all__ = [
    "cluster_subnets",
    "egress_dependencies",
    "network_resources",
    "node_subnet",
    "node_subnets",
    "public_subnet",
    "vpc_id",
]

INTERNET_GATEWAY = "aws:ec2/internetGateway:InternetGateway"
ADDRESS = "aws:ec2/eip:Eip"
NAT = "aws:ec2/natGateway:NatGateway"
ROUTE_TABLE = "aws:ec2/routeTable:RouteTable"
ROUTE = "aws:ec2/route:Route"
ASSOCIATION = "aws:ec2/routeTableAssociation:RouteTableAssociation"
EVERYWHERE = "0.0.0.0/0"


def network_resources(context: EksContext) -> list[PlanResource]:
    """Return every resource of a new VPC; [] for an existing VPC, of which mlcluster changes nothing, not even tags."""
    if context.target.network.vpc_id:
        return []
    tables = [_id(ROUTE_TABLE, f"private-{zone}") for zone in context.zones]
    return [
        _vpc(context),
        *subnet_resources(context),
        _internet_gateway(context),
        *_public_routes(context),
        *(made for zone in _nat_zones(context) for made in _nat(context, zone)),
        *(made for zone in context.zones for made in _private_routes(context, zone)),
        *endpoint_resources(context, tables),
    ]


def egress_dependencies(context: EksContext) -> tuple[str, ...]:
    """Return the ids of the resources by which nodes reach AWS from their subnets; they come before the first node."""
    kinds = {ROUTE, ASSOCIATION, "aws:ec2/vpcEndpoint:VpcEndpoint"}
    return tuple(made.id for made in network_resources(context) if made.type in kinds)


def _vpc(context: EksContext) -> PlanResource:
    inputs = {
        "cidrBlock": context.target.network.cidr,
        "enableDnsSupport": True,
        "enableDnsHostnames": True,
        "tags": _named(context, context.name),
    }
    return resource(VPC, context.name, inputs, spec_path=SPEC_PATH)


def _internet_gateway(context: EksContext) -> PlanResource:
    inputs = {"vpcId": vpc_id(context), "tags": _named(context, context.name)}
    return resource(INTERNET_GATEWAY, context.name, inputs, spec_path=SPEC_PATH)


def _public_routes(context: EksContext) -> list[PlanResource]:
    table = _table(context, "public")
    gateway = {"gatewayId": _id(INTERNET_GATEWAY, context.name)}
    route = _route("public", gateway)
    return [table, route, *(_association(f"public-{zone}", "public") for zone in context.zones)]


def _private_routes(context: EksContext, zone: str) -> list[PlanResource]:
    """Return the private route table of a zone with its route.

    Every zone has a table regardless of `nat`: a change of `nat` then changes one route and moves no subnet.
    """
    name = f"private-{zone}"
    made = [_table(context, name), _association(name, name)]
    gateways = _nat_zones(context)
    if gateways:
        nearest = zone if zone in gateways else gateways[0]
        made.append(_route(name, {"natGatewayId": _id(NAT, nearest)}, spec_path=(*SPEC_PATH, "nat")))
    return made


def _nat_zones(context: EksContext) -> tuple[str, ...]:
    """Return the zones that have a NAT gateway."""
    return {"none": (), "one": context.zones[:1], "perZone": context.zones}[context.target.network.nat]


def _nat(context: EksContext, zone: str) -> list[PlanResource]:
    """Return a NAT gateway and its address; both need the internet gateway, which they do not refer to."""
    needs = (resource_id(INTERNET_GATEWAY, context.name),)
    tags, spec_path = _named(context, f"{context.name}-nat-{zone}"), (*SPEC_PATH, "nat")
    address = resource(ADDRESS, f"nat-{zone}", {"domain": "vpc", "tags": tags}, spec_path=spec_path, needs=needs)
    inputs = {"allocationId": Ref(address.id, "id"), "subnetId": _id(SUBNET, f"public-{zone}"), "tags": tags}
    return [address, resource(NAT, zone, inputs, spec_path=spec_path, needs=needs)]


def _table(context: EksContext, name: str) -> PlanResource:
    inputs = {"vpcId": vpc_id(context), "tags": _named(context, f"{context.name}-{name}")}
    return resource(ROUTE_TABLE, name, inputs, spec_path=SPEC_PATH)


def _route(name: str, gateway: Manifest, *, spec_path: Loc = SPEC_PATH) -> PlanResource:
    inputs = {"routeTableId": _id(ROUTE_TABLE, name), "destinationCidrBlock": EVERYWHERE, **gateway}
    return resource(ROUTE, name, inputs, spec_path=spec_path)


def _association(subnet: str, table: str) -> PlanResource:
    inputs = {"subnetId": _id(SUBNET, subnet), "routeTableId": _id(ROUTE_TABLE, table)}
    return resource(ASSOCIATION, subnet, inputs, spec_path=SPEC_PATH)


def _id(token: str, name: str) -> Ref:
    return Ref(resource_id(token, name), "id")


def _named(context: EksContext, name: str) -> dict[str, str]:
    return {**context.tags, "Name": name}
