"""VPC endpoints: AWS services that nodes reach without leaving the VPC.

S3 has a gateway endpoint, which is a route and costs nothing; the other endpoints are interfaces in the private
subnets, billed by the hour (AWS PrivateLink guide, "AWS services that integrate with AWS PrivateLink").
"""

from ipaddress import IPv4Network

from mlcluster.plan.eks.context import EksContext, resource, resource_id
from mlcluster.plan.eks.subnets import SPEC_PATH, cluster_subnets, vpc_id
from mlcluster.plan.model import PlanResource
from mlcluster.plan.values import Ref

ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"
SECURITY_GROUP = "aws:ec2/securityGroup:SecurityGroup"
SERVICES: dict[str, tuple[str, ...]] = {
    "ecr": ("ecr.api", "ecr.dkr"),
    "sts": ("sts",),
    "ec2": ("ec2",),
    "efs": ("elasticfilesystem",),
    "eks": ("eks",),
    "eksAuth": ("eks-auth",),
    "logs": ("logs",),
    "autoscaling": ("autoscaling",),
    "sqs": ("sqs",),
}
"""Endpoint name in the spec -> its AWS services; s3 is absent because it has a gateway."""

_HTTPS = 443


def endpoint_resources(context: EksContext, route_tables: list[Ref]) -> list[PlanResource]:
    """Return the endpoints that the spec selects, in a new VPC.

    Args:
        route_tables: ids of the private route tables that the S3 gateway adds its route to.
    """
    chosen = context.target.network.endpoints
    services = [service for word, names in SERVICES.items() if word in chosen for service in names]
    made = [_gateway(context, route_tables)] if "s3" in chosen else []
    if services:
        made += [_security_group(context), *(_interface(context, service) for service in services)]
    return made


def _gateway(context: EksContext, route_tables: list[Ref]) -> PlanResource:
    inputs = {
        "vpcId": vpc_id(context),
        "vpcEndpointType": "Gateway",
        "serviceName": f"com.amazonaws.{context.target.region}.s3",
        "routeTableIds": route_tables,
        "tags": {**context.tags, "Name": f"{context.name}-s3"},
    }
    return resource(ENDPOINT, "s3", inputs, spec_path=(*SPEC_PATH, "endpoints"))


def _interface(context: EksContext, service: str) -> PlanResource:
    inputs = {
        "vpcId": vpc_id(context),
        "vpcEndpointType": "Interface",
        "serviceName": f"com.amazonaws.{context.target.region}.{service}",
        "privateDnsEnabled": True,
        "subnetIds": cluster_subnets(context),
        "securityGroupIds": [Ref(_group_id(context), "id")],
        "tags": {**context.tags, "Name": f"{context.name}-{service}"},
    }
    return resource(ENDPOINT, service, inputs, spec_path=(*SPEC_PATH, "endpoints"))


def _security_group(context: EksContext) -> PlanResource:
    name = f"{context.name}-endpoints"
    ingress = {
        "description": "HTTPS from the VPC",
        "protocol": "tcp",
        "fromPort": _HTTPS,
        "toPort": _HTTPS,
        "cidrBlocks": [str(IPv4Network(context.target.network.cidr))],
    }
    inputs = {
        "name": name,
        "description": f"VPC endpoints of {context.name}",
        "vpcId": vpc_id(context),
        "ingress": [ingress],
        "tags": {**context.tags, "Name": name},
    }
    return resource(SECURITY_GROUP, name, inputs, spec_path=(*SPEC_PATH, "endpoints"))


def _group_id(context: EksContext) -> str:
    return resource_id(SECURITY_GROUP, f"{context.name}-endpoints")
