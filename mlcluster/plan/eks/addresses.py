"""The addresses that the cluster needs in each zone, and whether a subnet holds them (pure arithmetic on IPv4).

How a node uses addresses with prefix delegation (VPC CNI documentation, "prefix-and-ip-target", and the EKS best
practices on it): one address for each of its interfaces, and blocks of /28 (16 addresses) that its pods share. With
WARM_PREFIX_TARGET 1 it holds one block more than its pods fill. Interfaces of type efa-only have no address.
"""

import math
from dataclasses import dataclass
from ipaddress import IPv4Network

from mlcluster.plan.eks.context import EksContext
from mlcluster.plan.model import Pool
from mlcluster.spec.vpc_layout import prefix_blocks

PREFIX_SIZE = 16
WARM_PREFIXES = 1
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

_GIB_PER_FILE_SERVER = 1200


@dataclass(frozen=True, slots=True)
class PoolDemand:
    """What one pool needs in one zone when all of its nodes are there."""

    pool: str
    nodes: int
    pods: int
    prefixes_per_node: int
    surge: int
    surge_prefixes: int = SURGE_PREFIXES

    @property
    def prefixes(self) -> int:
        """Blocks of /28."""
        return self.nodes * self.prefixes_per_node + self.surge * self.surge_prefixes

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
    reserved: int = AWS_RESERVED

    @property
    def prefixes(self) -> int:
        """Blocks of /28 for pods."""
        return sum(pool.prefixes for pool in self.pools)

    @property
    def singles(self) -> int:
        """Addresses that are not in such a block, those that AWS keeps included."""
        shared = self.control_plane + self.load_balancers + self.endpoints + self.file_systems
        return self.reserved + shared + sum(pool.singles for pool in self.pools)

    @property
    def addresses(self) -> int:
        """Everything, in addresses."""
        return self.prefixes * PREFIX_SIZE + self.singles

    def fits(self, subnet: IPv4Network) -> bool:
        """Whether a subnet that is cut by `prefix_blocks` holds it."""
        room = sum(block.num_addresses for block in prefix_blocks(subnet))
        return self.prefixes * PREFIX_SIZE <= room and self.singles <= subnet.num_addresses - room


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
    update = context.spec_pool(pool).update
    surge = max(SURGE_NODES, update.max_unavailable or 0) if pool in context.managed else 0
    return PoolDemand(pool.name, pool.max_size, pods, prefixes_per_node(pods), surge)


def _file_system(capacity_gib: int | None) -> int:
    """A mount target for EFS; for Lustre a metadata server and a server for each 1200 GiB, counted high."""
    return 1 + math.ceil((capacity_gib or 0) / _GIB_PER_FILE_SERVER)
