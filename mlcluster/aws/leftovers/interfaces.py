"""Network interfaces: the most frequent reason why a subnet or security group cannot be deleted."""

from collections.abc import Iterator
from typing import Any

from mlcluster.aws.leftovers.look import Look
from mlcluster.aws.leftovers.ownership import tags_of
from mlcluster.aws.leftovers.things import Leftover


def listed(look: Look) -> list[dict[str, Any]]:
    """Every interface with one of our tag keys, in a VPC of ours, or of the cluster's control plane."""
    name = f"Amazon EKS {look.owner.cluster}"
    filters = [{"Name": "description", "Values": [name]}]
    eks = look.every("ec2", "DescribeNetworkInterfaces", "NetworkInterfaces", Filters=filters)
    every = look.ec2("DescribeNetworkInterfaces", "NetworkInterfaces", "NetworkInterfaceId")
    return list({one["NetworkInterfaceId"]: one for one in (*every, *eks)}.values())


def interfaces(look: Look) -> Iterator[Leftover]:
    """Interfaces by themselves; those that go with an instance are not listed."""
    for one in listed(look):
        why = _why(look, one)
        attachment = one.get("Attachment", {})
        goes_with_instance = attachment.get("InstanceId") and attachment.get("DeleteOnTermination")
        if not why or goes_with_instance:
            continue
        identifier = one["NetworkInterfaceId"]
        commands, blocked_by = _removal(look, one, identifier, attachment)
        yield look.found(
            "network interface",
            identifier,
            commands,
            why=why,
            tags=one.get("TagSet"),
            name=one.get("Description", ""),
            arn=look.arn("ec2", f"network-interface/{identifier}"),
            zone=one.get("AvailabilityZone", ""),
            blocked_by=blocked_by,
        )


def _why(look: Look, one: dict[str, Any]) -> str:
    why = look.owner.why(tags_of(one.get("TagSet")), one.get("VpcId", ""))
    if not why and not look.owner.namesake and one.get("Description") == f"Amazon EKS {look.owner.cluster}":
        return "name"
    return why


def _removal(
    look: Look, one: dict[str, Any], identifier: str, attachment: dict[str, Any]
) -> tuple[list[str], list[str]]:
    """The commands and what must go first; AWS's own services take their interfaces away with what they made."""
    delete = look.aws("ec2", "delete-network-interface", "--network-interface-id", identifier)
    instance = attachment.get("InstanceId", "")
    if one.get("RequesterManaged") or (attachment and not instance):
        return [], [one.get("Description") or one.get("InterfaceType", "its owner")]
    if not instance:
        return [delete], []
    detach = look.aws("ec2", "detach-network-interface", "--attachment-id", attachment["AttachmentId"], "--force")
    wait = look.aws("ec2", "wait", "network-interface-available", "--network-interface-ids", identifier)
    return [detach, wait, delete], [instance]
