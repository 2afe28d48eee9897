"""Network interfaces of nodes: one for addresses, and in a pool with EFA one EFA-only interface per card.

Sources: Amazon EC2 user guide "Elastic Fabric Adapter" (a security group that allows all traffic
from and to itself), Amazon EKS user guide "Launch templates" (interfaces without a subnet).
"""

from dataclasses import dataclass
from typing import Literal

from mlcluster.catalog.networks import PRIMARY, network_layout
from mlcluster.plan.eks.context import EksContext, resource, resource_id
from mlcluster.plan.eks.control_plane import cluster_security_group
from mlcluster.plan.eks.subnets import vpc_id
from mlcluster.plan.model import Manifest, PlanResource
from mlcluster.plan.values import Ref

_GROUP = "aws:ec2/securityGroup:SecurityGroup"
_INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
_EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"


@dataclass(frozen=True, slots=True)
class Interface:
    """One network interface of an instance.

    Attributes:
        card: network card index.
        device: device index; (card, device) is unique.
        kind: EC2's interface type; only the first interface has addresses.
    """

    card: int
    device: int
    kind: Literal["interface", "efa-only"]


def efa_interfaces(instance_type: str) -> tuple[Interface, ...]:
    """Return every interface of an instance of this type in a pool with EFA, the primary interface first.

    Raises:
        KeyError: the catalog lacks the type or its network cards; the spec checks reject both.
    """
    layout = network_layout(instance_type)
    if layout is None:
        raise KeyError(instance_type)
    return (Interface(*PRIMARY, "interface"), *(Interface(*place, "efa-only") for place in layout.efa_only))


def launch_interfaces(context: EksContext, instance_type: str) -> list[Manifest]:
    """Return `networkInterfaces` of a launch template.

    Every interface has the same security groups, no subnet and no public address.
    """
    groups = [cluster_security_group(context), efa_security_group(context)]
    return [
        {
            "networkCardIndex": interface.card,
            "deviceIndex": interface.device,
            "interfaceType": interface.kind,
            "deleteOnTermination": "true",
            "securityGroups": groups,
        }
        for interface in efa_interfaces(instance_type)
    ]


def efa_security_group(context: EksContext) -> Ref:
    """Return the ID of the security group of EFA interfaces."""
    return Ref(resource_id(_GROUP, f"{context.name}-efa"), "id")


def efa_security_group_resources(context: EksContext) -> list[PlanResource]:
    """Return the security group of EFA interfaces and its two rules; [] if no pool has EFA.

    The group lacks the tag kubernetes.io/cluster/NAME: the load balancer controller fails if two groups of a node
    have it.
    """
    first = next((pool for pool in context.pools if context.spec_pool(pool).network.efa), None)
    if first is None:
        return []
    name, path = f"{context.name}-efa", (*first.spec_path, "network", "efa")
    group = efa_security_group(context)
    itself: Manifest = {
        "securityGroupId": group,
        "referencedSecurityGroupId": group,
        "ipProtocol": "-1",
        "description": "EFA between nodes of this group",
        "tags": {**context.tags, "Name": name},
    }
    inputs: Manifest = {
        "name": name,
        "description": f"EFA between nodes of {context.name}",
        "vpcId": vpc_id(context),
        # A rule that refers to its own group would block the deletion of the group.
        "revokeRulesOnDelete": True,
        "tags": {**context.tags, "Name": name},
    }
    return [
        resource(_GROUP, name, inputs, spec_path=path),
        resource(_INGRESS, name, itself, spec_path=path),
        resource(_EGRESS, name, itself, spec_path=path),
    ]
