"""Security groups of file systems, which only the nodes can reach."""

from mlcluster.plan.eks.context import EksContext, resource
from mlcluster.plan.eks.control_plane import cluster_security_group
from mlcluster.plan.eks.network import vpc_id
from mlcluster.plan.eks.storage.volumes import Volume
from mlcluster.plan.model import PlanResource
from mlcluster.plan.values import Ref

SECURITY_GROUP = "aws:ec2/securityGroup:SecurityGroup"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
NFS_PORTS = ((2049, 2049),)
LUSTRE_PORTS = ((988, 988), (1018, 1023))
"""Ports between servers and clients, both ways (FSx for Lustre user guide, "File system access control with Amazon
VPC")."""


def group_ref(volume: Volume) -> Ref:
    """Return the id of the volume's security group."""
    return Ref(f"SecurityGroup/{volume.group}", "id")


def security_group(context: EksContext, volume: Volume, what: str) -> PlanResource:
    """Return a group without rules.

    Each rule is a separate resource, so that a retained group does not block the deletion of the cluster's group.
    """
    inputs = {
        "name": volume.group,
        "description": f"{what} {volume.name} of cluster {context.name}",
        "vpcId": vpc_id(context),
        "tags": {**context.tags, "Name": volume.group},
    }
    return resource(SECURITY_GROUP, volume.group, inputs, spec_path=volume.spec_path)


def nodes_in(context: EksContext, volume: Volume, ports: tuple[tuple[int, int], ...]) -> list[PlanResource]:
    """Return the rules by which the nodes reach the file system."""
    nodes = cluster_security_group(context)
    return [_rule(context, volume, INGRESS, group_ref(volume), nodes, ("from-nodes", one)) for one in ports]


def servers_both_ways(context: EksContext, volume: Volume, ports: tuple[tuple[int, int], ...]) -> list[PlanResource]:
    """Return the rules by which file servers reach each other and the nodes, on both groups."""
    nodes, own = cluster_security_group(context), group_ref(volume)
    rules = []
    for one in ports:
        rules += [
            _rule(context, volume, INGRESS, own, own, ("from-servers", one)),
            _rule(context, volume, EGRESS, own, own, ("to-servers", one)),
            _rule(context, volume, EGRESS, own, nodes, ("to-nodes", one)),
            _rule(context, volume, INGRESS, nodes, own, ("into-nodes", one)),
        ]
    return rules


def _rule(  # noqa: PLR0913, PLR0917 -- a rule is a group, another group, ports and a direction
    context: EksContext,
    volume: Volume,
    token: str,
    group: str | Ref,
    other: str | Ref,
    what: tuple[str, tuple[int, int]],
) -> PlanResource:
    direction, (low, high) = what
    inputs = {
        "securityGroupId": group,
        "referencedSecurityGroupId": other,
        "ipProtocol": "tcp",
        "fromPort": low,
        "toPort": high,
        "description": f"{volume.name}: {direction.replace('-', ' ')}",
        "tags": dict(context.tags),
    }
    return resource(token, f"{volume.group}-{direction}-{low}", inputs, spec_path=volume.spec_path)
