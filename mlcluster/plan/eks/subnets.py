"""Subnets of each zone, new or from the spec: a private subnet for nodes and a public subnet for load balancers."""

from ipaddress import IPv4Network

from mlcluster.plan import names
from mlcluster.plan.eks.context import EksContext, resource, resource_id
from mlcluster.plan.model import PlanResource
from mlcluster.plan.values import Ref
from mlcluster.spec.document import Loc
from mlcluster.spec.vpc_layout import layout, prefix_blocks

VPC = "aws:ec2/vpc:Vpc"
SUBNET = "aws:ec2/subnet:Subnet"
RESERVATION = "aws:ec2/subnetCidrReservation:SubnetCidrReservation"
SPEC_PATH: Loc = ("target", "network")
ZONE_TAG = f"{names.DOMAIN}/zone"
DISCOVERY_TAG = "karpenter.sh/discovery"
PUBLIC_TAG, PRIVATE_TAG = "kubernetes.io/role/elb", "kubernetes.io/role/internal-elb"
"""The tags by which the AWS load balancer controller finds subnets (EKS user guide, "Subnet requirements")."""


def vpc_id(context: EksContext) -> Ref | str:
    """Return the ID of the VPC: the managed VPC, or the existing VPC of the spec."""
    return context.target.network.vpc_id or Ref(resource_id(VPC, context.name), "id")


def node_subnet(context: EksContext, zone: str) -> Ref | str:
    """Return the private subnet of the nodes in a zone.

    Raises:
        KeyError: with `vpcId`, the spec has no subnet in the zone; the spec checks reject that.
    """
    if context.target.network.vpc_id:
        return context.target.network.private_subnets[zone]
    return Ref(resource_id(SUBNET, f"private-{zone}"), "id")


def node_subnets(context: EksContext, zones: tuple[str, ...]) -> list[Ref | str]:
    """Return the private subnets of several zones, in the order of the zones."""
    return [node_subnet(context, zone) for zone in zones]


def cluster_subnets(context: EksContext) -> list[Ref | str]:
    """Return the subnets of the control plane's interfaces: the private subnet of every zone."""
    return node_subnets(context, context.zones)


def public_subnet(context: EksContext, zone: str) -> Ref | str | None:
    """Return the subnet of public load balancers in a zone; None if the existing VPC has none."""
    if context.target.network.vpc_id:
        return context.target.network.public_subnets.get(zone)
    return Ref(resource_id(SUBNET, f"public-{zone}"), "id")


def subnet_resources(context: EksContext) -> list[PlanResource]:
    """Return the subnets of a new VPC, and in the private subnets the blocks reserved for the pods' prefixes.

    Raises:
        ValueError: the range is too small for the zones; the spec checks reject that.
    """
    cut = layout(context.target.network.cidr, context.zones)
    if cut is None:
        message = f"{context.target.network.cidr} is too small for {len(context.zones)} zones"
        raise ValueError(message)
    private = [made for zone, cidr in cut.private.items() for made in _private(context, zone, cidr)]
    return [*private, *(_public(context, zone, cidr) for zone, cidr in cut.public.items())]


def _private(context: EksContext, zone: str, cidr: IPv4Network) -> list[PlanResource]:
    tags = {PRIVATE_TAG: "1", DISCOVERY_TAG: context.name}
    subnet = _subnet(context, f"private-{zone}", zone, cidr, tags)
    blocks = [
        resource(
            RESERVATION,
            f"private-{zone}-{number}",
            {
                "subnetId": Ref(subnet.id, "id"),
                "cidrBlock": str(block),
                "reservationType": "prefix",
                "description": f"Pods of {context.name}",
            },
            spec_path=SPEC_PATH,
        )
        for number, block in enumerate(prefix_blocks(cidr), start=1)
    ]
    return [subnet, *blocks]


def _public(context: EksContext, zone: str, cidr: IPv4Network) -> PlanResource:
    return _subnet(context, f"public-{zone}", zone, cidr, {PUBLIC_TAG: "1"})


def _subnet(context: EksContext, name: str, zone: str, cidr: IPv4Network, tags: dict[str, str]) -> PlanResource:
    inputs = {
        "vpcId": vpc_id(context),
        "availabilityZone": zone,
        "cidrBlock": str(cidr),
        "mapPublicIpOnLaunch": False,
        "tags": {**context.tags, "Name": f"{context.name}-{name}", ZONE_TAG: zone, **tags},
    }
    return resource(SUBNET, name, inputs, spec_path=SPEC_PATH)
