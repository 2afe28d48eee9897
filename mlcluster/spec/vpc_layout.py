"""How the range of a new VPC is cut into subnets: the checks and the plan cut it with the same arithmetic."""

import math
from dataclasses import dataclass
from ipaddress import IPv4Network

SHORTEST_VPC, LONGEST_VPC = 16, 28
"""A VPC's range is a /16 to a /28 (VPC user guide, "VPC CIDR blocks")."""

_PUBLIC_PREFIX, _LONGEST_SUBNET = 24, 28


@dataclass(frozen=True, slots=True)
class Layout:
    """A private and a public subnet for each zone, in the order of the zones."""

    private: dict[str, IPv4Network]
    public: dict[str, IPv4Network]


def layout(cidr: str, zones: tuple[str, ...]) -> Layout | None:
    """Private subnets as large as equal powers of two can be with room beside them for the public ones, a /24 each.

    Only the range and the number of zones decide, never the pools: a subnet cannot be made larger later.

    Returns:
        None when the range is too small: a subnet is a /28 at least (VPC user guide, "Subnet CIDR blocks").
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
    """The parts of a private subnet that are kept for the /28 blocks of pods: all but the first quarter.

    Single addresses anywhere in the subnet would leave few blocks of 16 in a row, however many addresses are free (EKS
    best practices, "Prefix Mode for Linux": use subnet reservations).
    """
    low, high = subnet.subnets(prefixlen_diff=1)
    return (tuple(low.subnets(prefixlen_diff=1))[1], high)


def _bits(count: int) -> int:
    """Bits that tell `count` subnets apart."""
    return math.ceil(math.log2(count))
