"""The network: gateways, addresses, endpoints, subnets, route tables, network ACLs, and the VPC last."""

from collections.abc import Iterator

from mlcluster.aws.leftovers import prices
from mlcluster.aws.leftovers.interfaces import cluster_interfaces
from mlcluster.aws.leftovers.ownership import tags_of
from mlcluster.aws.leftovers.results import Leftover
from mlcluster.aws.leftovers.search import Search


def nat_gateways(search: Search) -> Iterator[Leftover]:
    """Yield NAT gateways. They are deleted before the Elastic IPs that they use."""
    for one in search.ec2("DescribeNatGateways", "NatGateways", "NatGatewayId"):
        why = search.owner.why(tags_of(one.get("Tags")), one.get("VpcId", ""))
        if why and one.get("State") not in {"deleted", "deleting"}:
            identifier = one["NatGatewayId"]
            delete = search.aws("ec2", "delete-nat-gateway", "--nat-gateway-id", identifier)
            wait = search.aws("ec2", "wait", "nat-gateway-deleted", "--nat-gateway-ids", identifier)
            yield search.found(
                "NAT gateway",
                identifier,
                [delete, wait],
                why=why,
                tags=one.get("Tags"),
                arn=search.arn("ec2", f"natgateway/{identifier}"),
                hourly_usd=prices.NAT_GATEWAY,
            )


def addresses(search: Search) -> Iterator[Leftover]:
    """Yield Elastic IPs, which cost money whether they are used or not."""
    filters = [{"Name": "tag-key", "Values": search.owner.tag_keys}]
    for one in search.account.ask("ec2", "DescribeAddresses", Filters=filters).get("Addresses", []):
        why = search.owner.why(tags_of(one.get("Tags")))
        if why:
            identifier = one["AllocationId"]
            yield search.found(
                "Elastic IP",
                identifier,
                [search.aws("ec2", "release-address", "--allocation-id", identifier)],
                why=why,
                name=one.get("PublicIp", ""),
                arn=search.arn("ec2", f"elastic-ip/{identifier}"),
                hourly_usd=prices.PUBLIC_ADDRESS,
                blocked_by=filter(None, [one.get("InstanceId") or one.get("NetworkInterfaceId")]),
            )


def endpoints(search: Search) -> Iterator[Leftover]:
    """Yield VPC endpoints. Interface endpoints have network interfaces in the subnets."""
    for one in search.ec2("DescribeVpcEndpoints", "VpcEndpoints", "VpcEndpointId"):
        why = search.owner.why(tags_of(one.get("Tags")), one.get("VpcId", ""))
        if why and one.get("State", "").lower() not in {"deleted", "deleting"}:
            identifier = one["VpcEndpointId"]
            yield search.found(
                "VPC endpoint",
                identifier,
                [search.aws("ec2", "delete-vpc-endpoints", "--vpc-endpoint-ids", identifier)],
                why=why,
                name=one.get("ServiceName", ""),
                arn=search.arn("ec2", f"vpc-endpoint/{identifier}"),
                hourly_usd=prices.endpoint(one),
            )


def subnets(search: Search) -> Iterator[Leftover]:
    """Yield subnets. Every network interface in a subnet blocks its deletion."""
    for one in search.ec2("DescribeSubnets", "Subnets", "SubnetId"):
        why = search.owner.why(tags_of(one.get("Tags")), one.get("VpcId", ""), network=True)
        if why:
            identifier = one["SubnetId"]
            yield search.found(
                "subnet",
                identifier,
                [search.aws("ec2", "delete-subnet", "--subnet-id", identifier)],
                why=why,
                tags=one.get("Tags"),
                arn=one.get("SubnetArn", ""),
                zone=one.get("AvailabilityZone", ""),
                blocked_by=(
                    entry["NetworkInterfaceId"]
                    for entry in cluster_interfaces(search)
                    if entry.get("SubnetId") == identifier
                ),
            )


def route_tables(search: Search) -> Iterator[Leftover]:
    """Yield route tables, except the main one, which is deleted with the VPC."""
    for one in search.ec2("DescribeRouteTables", "RouteTables", "RouteTableId"):
        why = search.owner.why(tags_of(one.get("Tags")), one.get("VpcId", ""), network=True)
        if why and not any(entry.get("Main") for entry in one.get("Associations", [])):
            identifier = one["RouteTableId"]
            delete = search.aws("ec2", "delete-route-table", "--route-table-id", identifier)
            arn, tags = search.arn("ec2", f"route-table/{identifier}"), one.get("Tags")
            subnets_of = [entry["SubnetId"] for entry in one.get("Associations", []) if "SubnetId" in entry]
            yield search.found("route table", identifier, [delete], why=why, tags=tags, arn=arn, blocked_by=subnets_of)


def network_acls(search: Search) -> Iterator[Leftover]:
    """Yield network ACLs, except the default one, which is deleted with the VPC."""
    for one in search.ec2("DescribeNetworkAcls", "NetworkAcls", "NetworkAclId"):
        why = search.owner.why(tags_of(one.get("Tags")), one.get("VpcId", ""), network=True)
        if why and not one.get("IsDefault"):
            identifier = one["NetworkAclId"]
            delete = search.aws("ec2", "delete-network-acl", "--network-acl-id", identifier)
            arn, tags = search.arn("ec2", f"network-acl/{identifier}"), one.get("Tags")
            yield search.found("network ACL", identifier, [delete], why=why, tags=tags, arn=arn)


def internet_gateways(search: Search) -> Iterator[Leftover]:
    """Yield internet gateways. They are first detached from their VPC, which must have no public address left."""
    for one in search.ec2("DescribeInternetGateways", "InternetGateways", "InternetGatewayId", "attachment.vpc-id"):
        attached = [entry["VpcId"] for entry in one.get("Attachments", []) if "VpcId" in entry]
        why = search.owner.why(tags_of(one.get("Tags")), next(iter(attached), ""), network=True)
        if why:
            identifier = one["InternetGatewayId"]
            which = ("--internet-gateway-id", identifier)
            detach = [search.aws("ec2", "detach-internet-gateway", *which, "--vpc-id", vpc) for vpc in attached]
            delete = search.aws("ec2", "delete-internet-gateway", *which)
            arn, tags = search.arn("ec2", f"internet-gateway/{identifier}"), one.get("Tags")
            yield search.found("internet gateway", identifier, [*detach, delete], why=why, tags=tags, arn=arn)


def vpcs(search: Search) -> Iterator[Leftover]:
    """Yield the VPCs that carry the cluster's tag, never a VPC that existed before the cluster."""
    for one in search.ec2("DescribeVpcs", "Vpcs", "VpcId"):
        why = search.owner.why(tags_of(one.get("Tags")), network=True)
        if why and not one.get("IsDefault"):
            identifier = one["VpcId"]
            delete = search.aws("ec2", "delete-vpc", "--vpc-id", identifier)
            arn = search.arn("ec2", f"vpc/{identifier}")
            yield search.found("VPC", identifier, [delete], why=why, tags=one.get("Tags"), arn=arn)
