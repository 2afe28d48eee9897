"""Zones of the cluster, and the division of the range of a new VPC into subnets, for the checks and the plan."""

import math
from dataclasses import dataclass
from ipaddress import IPv4Network

from mlcluster.catalog.eks import zones_of
from mlcluster.spec.eks import EksTarget

SHORTEST_VPC, LONGEST_VPC = 16, 28
"""Limits of the range of a VPC (VPC user guide, "VPC CIDR blocks")."""

_PUBLIC_PREFIX, _LONGEST_SUBNET = 24, 28


@dataclass(frozen=True, slots=True)
class Layout:
    """The private and the public subnet of each zone, in the order of the zones."""

    private: dict[str, IPv4Network]
    public: dict[str, IPv4Network]


def cluster_zones(target: EksTarget) -> tuple[str, ...]:
    """Return the zones of the subnets: from the spec, from its private subnets, or the first zones of the region.

    Returns:
        The zones; () in an unknown region.
    """
    return tuple(target.zones or target.network.private_subnets or zones_of(target.region))


def layout(cidr: str, zones: tuple[str, ...]) -> Layout | None:
    """Return the largest private subnets of equal size that leave room for a public subnet of /24 in each zone.

    The layout depends only on the range and the number of zones, not on the pools, because AWS cannot resize a subnet.

    Returns:
        The layout; None if the range is too small, because a subnet is at least a /28 (VPC user guide, "Subnet CIDR
        blocks").
    """
    network = IPv4Network(cidr)
    private_prefix = network.prefixlen + _bits(len(zones) + 1)
    public_prefix = max(_PUBLIC_PREFIX, private_prefix + _bits(len(zones)))
    if public_prefix > _LONGEST_SUBNET:
        return None
    slots = list(network.subnets(new_prefix=private_prefix))
    public = slots[-1].subnets(new_prefix=public_prefix)
    return Layout(dict(zip(zones, slots, strict=False)), dict(zip(zones, public, strict=False)))


def prefix_blocks(subnet: IPv4Network) -> tuple[IPv4Network, ...]:
    """Return the parts of a private subnet to reserve for the /28 prefixes of pods: all but the first quarter.

    Without a reservation, single addresses fragment the subnet, so that few free blocks of 16 addresses remain (EKS
    best practices, "Prefix Mode for Linux": use subnet reservations).
    """
    low, high = subnet.subnets(prefixlen_diff=1)
    return (tuple(low.subnets(prefixlen_diff=1))[1], high)


def _bits(count: int) -> int:
    """Return the number of bits that `count` subnets need."""
    return math.ceil(math.log2(count))
