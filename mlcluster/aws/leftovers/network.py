"""The network: gateways, addresses, endpoints, subnets, tables, and the VPC last."""

from collections.abc import Iterator

from mlcluster.aws.leftovers import prices
from mlcluster.aws.leftovers.interfaces import listed
from mlcluster.aws.leftovers.look import Look
from mlcluster.aws.leftovers.ownership import tags_of
from mlcluster.aws.leftovers.things import Leftover


def nat_gateways(look: Look) -> Iterator[Leftover]:
    """Before the addresses that they hold."""
    for one in look.ec2("DescribeNatGateways", "NatGateways", "NatGatewayId"):
        why = look.owner.why(tags_of(one.get("Tags")), one.get("VpcId", ""))
        if why and one.get("State") not in {"deleted", "deleting"}:
            identifier = one["NatGatewayId"]
            delete = look.aws("ec2", "delete-nat-gateway", "--nat-gateway-id", identifier)
            wait = look.aws("ec2", "wait", "nat-gateway-deleted", "--nat-gateway-ids", identifier)
            yield look.found(
                "NAT gateway",
                identifier,
                [delete, wait],
                why=why,
                tags=one.get("Tags"),
                arn=look.arn("ec2", f"natgateway/{identifier}"),
                hourly_usd=prices.NAT_GATEWAY,
            )


def addresses(look: Look) -> Iterator[Leftover]:
    """Elastic IPs cost whether they are used or not."""
    filters = [{"Name": "tag-key", "Values": look.owner.tag_keys}]
    for one in look.account.ask("ec2", "DescribeAddresses", Filters=filters).get("Addresses", []):
        why = look.owner.why(tags_of(one.get("Tags")))
        if why:
            identifier = one["AllocationId"]
            yield look.found(
                "Elastic IP",
                identifier,
                [look.aws("ec2", "release-address", "--allocation-id", identifier)],
                why=why,
                name=one.get("PublicIp", ""),
                arn=look.arn("ec2", f"elastic-ip/{identifier}"),
                hourly_usd=prices.PUBLIC_ADDRESS,
                blocked_by=filter(None, [one.get("InstanceId") or one.get("NetworkInterfaceId")]),
            )


def endpoints(look: Look) -> Iterator[Leftover]:
    """Interface endpoints have interfaces in the subnets."""
    for one in look.ec2("DescribeVpcEndpoints", "VpcEndpoints", "VpcEndpointId"):
        why = look.owner.why(tags_of(one.get("Tags")), one.get("VpcId", ""))
        if why and one.get("State", "").lower() not in {"deleted", "deleting"}:
            identifier = one["VpcEndpointId"]
            yield look.found(
                "VPC endpoint",
                identifier,
                [look.aws("ec2", "delete-vpc-endpoints", "--vpc-endpoint-ids", identifier)],
                why=why,
                name=one.get("ServiceName", ""),
                arn=look.arn("ec2", f"vpc-endpoint/{identifier}"),
                hourly_usd=prices.endpoint(one),
            )


def subnets(look: Look) -> Iterator[Leftover]:
    """Held by whatever has an interface in them."""
    for one in look.ec2("DescribeSubnets", "Subnets", "SubnetId"):
        why = look.owner.why(tags_of(one.get("Tags")), one.get("VpcId", ""), network=True)
        if why:
            identifier = one["SubnetId"]
            yield look.found(
                "subnet",
                identifier,
                [look.aws("ec2", "delete-subnet", "--subnet-id", identifier)],
                why=why,
                tags=one.get("Tags"),
                arn=one.get("SubnetArn", ""),
                zone=one.get("AvailabilityZone", ""),
                blocked_by=(
                    entry["NetworkInterfaceId"] for entry in listed(look) if entry.get("SubnetId") == identifier
                ),
            )


def route_tables(look: Look) -> Iterator[Leftover]:
    """All but the main one, which goes with the VPC."""
    for one in look.ec2("DescribeRouteTables", "RouteTables", "RouteTableId"):
        why = look.owner.why(tags_of(one.get("Tags")), one.get("VpcId", ""), network=True)
        if why and not any(entry.get("Main") for entry in one.get("Associations", [])):
            identifier = one["RouteTableId"]
            delete = look.aws("ec2", "delete-route-table", "--route-table-id", identifier)
            arn, tags = look.arn("ec2", f"route-table/{identifier}"), one.get("Tags")
            subnets_of = [entry["SubnetId"] for entry in one.get("Associations", []) if "SubnetId" in entry]
            yield look.found("route table", identifier, [delete], why=why, tags=tags, arn=arn, blocked_by=subnets_of)


def network_acls(look: Look) -> Iterator[Leftover]:
    """All but the default one, which goes with the VPC."""
    for one in look.ec2("DescribeNetworkAcls", "NetworkAcls", "NetworkAclId"):
        why = look.owner.why(tags_of(one.get("Tags")), one.get("VpcId", ""), network=True)
        if why and not one.get("IsDefault"):
            identifier = one["NetworkAclId"]
            delete = look.aws("ec2", "delete-network-acl", "--network-acl-id", identifier)
            arn, tags = look.arn("ec2", f"network-acl/{identifier}"), one.get("Tags")
            yield look.found("network ACL", identifier, [delete], why=why, tags=tags, arn=arn)


def internet_gateways(look: Look) -> Iterator[Leftover]:
    """Taken off their VPC first, which needs every public address in it gone."""
    for one in look.ec2("DescribeInternetGateways", "InternetGateways", "InternetGatewayId", "attachment.vpc-id"):
        attached = [entry["VpcId"] for entry in one.get("Attachments", []) if "VpcId" in entry]
        why = look.owner.why(tags_of(one.get("Tags")), next(iter(attached), ""), network=True)
        if why:
            identifier = one["InternetGatewayId"]
            which = ("--internet-gateway-id", identifier)
            detach = [look.aws("ec2", "detach-internet-gateway", *which, "--vpc-id", vpc) for vpc in attached]
            delete = look.aws("ec2", "delete-internet-gateway", *which)
            arn, tags = look.arn("ec2", f"internet-gateway/{identifier}"), one.get("Tags")
            yield look.found("internet gateway", identifier, [*detach, delete], why=why, tags=tags, arn=arn)


def vpcs(look: Look) -> Iterator[Leftover]:
    """Last; only one that carries our tag, never one that was there before."""
    for one in look.ec2("DescribeVpcs", "Vpcs", "VpcId"):
        why = look.owner.why(tags_of(one.get("Tags")), network=True)
        if why and not one.get("IsDefault"):
            identifier = one["VpcId"]
            delete = look.aws("ec2", "delete-vpc", "--vpc-id", identifier)
            arn = look.arn("ec2", f"vpc/{identifier}")
            yield look.found("VPC", identifier, [delete], why=why, tags=one.get("Tags"), arn=arn)
