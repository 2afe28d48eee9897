"""Network interfaces: the most frequent reason that a subnet or security group cannot be deleted."""

from collections.abc import Iterator
from typing import Any

from mlcluster.aws.leftovers.ownership import tags_of
from mlcluster.aws.leftovers.results import Leftover
from mlcluster.aws.leftovers.search import Search


def cluster_interfaces(search: Search) -> list[dict[str, Any]]:
    """Return every interface that has a tag key of the cluster, is in its VPC, or belongs to its control plane."""
    name = f"Amazon EKS {search.owner.cluster}"
    filters = [{"Name": "description", "Values": [name]}]
    eks = search.every("ec2", "DescribeNetworkInterfaces", "NetworkInterfaces", Filters=filters)
    every = search.ec2("DescribeNetworkInterfaces", "NetworkInterfaces", "NetworkInterfaceId")
    return list({one["NetworkInterfaceId"]: one for one in (*every, *eks)}.values())


def interfaces(search: Search) -> Iterator[Leftover]:
    """Yield network interfaces, except those that are deleted with their instance."""
    for one in cluster_interfaces(search):
        why = _why(search, one)
        attachment = one.get("Attachment", {})
        goes_with_instance = attachment.get("InstanceId") and attachment.get("DeleteOnTermination")
        if not why or goes_with_instance:
            continue
        identifier = one["NetworkInterfaceId"]
        commands, blocked_by = _removal(search, one, identifier, attachment)
        yield search.found(
            "network interface",
            identifier,
            commands,
            why=why,
            tags=one.get("TagSet"),
            name=one.get("Description", ""),
            arn=search.arn("ec2", f"network-interface/{identifier}"),
            zone=one.get("AvailabilityZone", ""),
            blocked_by=blocked_by,
        )


def _why(search: Search, one: dict[str, Any]) -> str:
    why = search.owner.why(tags_of(one.get("TagSet")), one.get("VpcId", ""))
    if not why and not search.owner.namesake and one.get("Description") == f"Amazon EKS {search.owner.cluster}":
        return "name"
    return why


def _removal(
    search: Search, one: dict[str, Any], identifier: str, attachment: dict[str, Any]
) -> tuple[list[str], list[str]]:
    """Return the commands, and what must be deleted first.

    AWS services delete their interfaces together with the resources that use them.
    """
    delete = search.aws("ec2", "delete-network-interface", "--network-interface-id", identifier)
    instance = attachment.get("InstanceId", "")
    if one.get("RequesterManaged") or (attachment and not instance):
        return [], [one.get("Description") or one.get("InterfaceType", "its owner")]
    if not instance:
        return [delete], []
    detach = search.aws("ec2", "detach-network-interface", "--attachment-id", attachment["AttachmentId"], "--force")
    wait = search.aws("ec2", "wait", "network-interface-available", "--network-interface-ids", identifier)
    return [detach, wait, delete], [instance]
