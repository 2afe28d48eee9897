"""The addresses of the VPC: how its range is cut, and whether the pools fit (pure arithmetic on IPv4).

How a node uses addresses with prefix delegation (VPC CNI documentation, "prefix-and-ip-target", and the EKS best
practices on it): one address for each of its interfaces, and blocks of /28 (16 addresses) that its pods share. With
WARM_PREFIX_TARGET 1 it holds one block more than its pods fill. Interfaces of type efa-only have no address.
"""

import math
from dataclasses import dataclass
from ipaddress import IPv4Network

from mlcluster.plan.eks.context import EksContext
from mlcluster.plan.model import Pool

PREFIX_SIZE = 16
WARM_PREFIXES = 1
LONGEST_VPC, SHORTEST_VPC = 28, 16
"""A VPC's range is a /16 to a /28 (VPC user guide, "VPC CIDR blocks")."""

AWS_RESERVED = 5
"""Addresses of each subnet that AWS keeps (VPC user guide, "Subnet CIDR blocks")."""

INTERFACES = 2
"""Addresses of interfaces per node: the first, and one that the CNI adds when the first has no room for a prefix."""

CONTROL_PLANE = 16
"""EKS asks for 6 and recommends 16 (EKS user guide, "Subnet requirements and considerations")."""

LOAD_BALANCERS = 32
"""Room for four load balancers; each asks for 8 free addresses (ELB user guide, "Subnets")."""

SURGE_NODES, SURGE_PREFIXES = 2, 2
"""During an update a managed node group has two more nodes in a zone; they share the pods of those that leave."""

_PUBLIC_PREFIX, _LONGEST_SUBNET = 24, 28
_GIB_PER_FILE_SERVER = 1200


@dataclass(frozen=True, slots=True)
class Layout:
    """How the VPC's range is cut: a private and a public subnet for each zone, in the order of the zones."""

    private: dict[str, IPv4Network]
    public: dict[str, IPv4Network]


@dataclass(frozen=True, slots=True)
class PoolDemand:
    """What one pool needs in one zone when all of its nodes are there."""

    pool: str
    nodes: int
    pods: int
    prefixes_per_node: int
    surge: int

    @property
    def prefixes(self) -> int:
        """Blocks of /28."""
        return self.nodes * self.prefixes_per_node + self.surge * SURGE_PREFIXES

    @property
    def singles(self) -> int:
        """Addresses of interfaces."""
        return (self.nodes + self.surge) * INTERFACES


@dataclass(frozen=True, slots=True)
class Demand:
    """What the private subnet of one zone must hold, in the worst case that every pool is there whole."""

    zone: str
    pools: tuple[PoolDemand, ...]
    control_plane: int
    load_balancers: int
    endpoints: int
    file_systems: int

    @property
    def prefixes(self) -> int:
        """Blocks of /28 for pods."""
        return sum(pool.prefixes for pool in self.pools)

    @property
    def singles(self) -> int:
        """Addresses that are not in such a block, those that AWS keeps included."""
        shared = self.control_plane + self.load_balancers + self.endpoints + self.file_systems
        return AWS_RESERVED + shared + sum(pool.singles for pool in self.pools)

    @property
    def addresses(self) -> int:
        """Everything, in addresses."""
        return self.prefixes * PREFIX_SIZE + self.singles

    def fits(self, subnet: IPv4Network) -> bool:
        """Whether a subnet that is cut by `prefix_blocks` holds it."""
        room = sum(block.num_addresses for block in prefix_blocks(subnet))
        return self.prefixes * PREFIX_SIZE <= room and self.singles <= subnet.num_addresses - room


def layout(cidr: str, zones: tuple[str, ...]) -> Layout | None:
    """Private subnets as large as equal powers of two can be with room beside them for the public ones, a /24 each.

    Only the range and the number of zones decide, never the pools: a subnet cannot be made larger later.

    Returns:
        None when the range is too small: a subnet is a /28 at least.
    """
    network = IPv4Network(cidr)
    bits = math.ceil(math.log2(len(zones) + 1))
    private_prefix = network.prefixlen + bits
    public_prefix = max(_PUBLIC_PREFIX, private_prefix + math.ceil(math.log2(len(zones))))
    if public_prefix > _LONGEST_SUBNET:
        return None
    slots = list(network.subnets(new_prefix=private_prefix))
    public = slots[-1].subnets(new_prefix=public_prefix)
    return Layout(dict(zip(zones, slots, strict=False)), dict(zip(zones, public, strict=False)))


def prefix_blocks(subnet: IPv4Network) -> tuple[IPv4Network, ...]:
    """The parts of a private subnet that are kept for /28 blocks: all but the first quarter.

    Single addresses anywhere in the subnet would leave few free blocks of 16 in a row, however many addresses are free
    (EKS best practices, "Prefix mode for Linux": use subnet reservations).
    """
    low, high = subnet.subnets(prefixlen_diff=1)
    return (tuple(low.subnets(prefixlen_diff=1))[1], high)


def demands(context: EksContext) -> tuple[Demand, ...]:
    """What each zone's private subnet must hold, in the order of the zones."""
    return tuple(_demand(context, zone) for zone in context.zones)


def prefixes_per_node(pods: int) -> int:
    """Blocks of /28 that a node with this many pods holds."""
    return math.ceil(pods / PREFIX_SIZE) + WARM_PREFIXES


def _demand(context: EksContext, zone: str) -> Demand:
    network = context.target.network
    services = [endpoint for endpoint in network.endpoints if endpoint != "s3"]
    return Demand(
        zone=zone,
        pools=tuple(_pool(context, pool) for pool in context.pools if zone in context.zones_of(pool)),
        control_plane=CONTROL_PLANE,
        load_balancers=LOAD_BALANCERS,
        endpoints=0 if network.vpc_id else len(services) + services.count("ecr"),
        file_systems=sum(_file_system(volume.capacity_gib) for volume in context.spec.storage.volumes),
    )


def _pool(context: EksContext, pool: Pool) -> PoolDemand:
    pods = pool.allocatable["pods"]
    update = context.written(pool).update
    surge = max(SURGE_NODES, update.max_unavailable or 0) if pool in context.managed else 0
    return PoolDemand(pool.name, pool.max_size, pods, prefixes_per_node(pods), surge)


def _file_system(capacity_gib: int | None) -> int:
    """A mount target for EFS; for Lustre a metadata server and a server for each 1200 GiB, counted high."""
    return 1 + math.ceil((capacity_gib or 0) / _GIB_PER_FILE_SERVER)
