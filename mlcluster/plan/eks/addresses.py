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
"""Addresses of each subnet that AWS reserves (VPC user guide, "Subnet CIDR blocks")."""

INTERFACES = 2
"""Interface addresses per node: the first interface, and a second if the first has no room for a prefix."""

CONTROL_PLANE = 16
"""EKS requires 6 and recommends 16 (EKS user guide, "Subnet requirements and considerations")."""

LOAD_BALANCERS = 32
"""Room for four load balancers; each requires 8 free addresses (ELB user guide, "Subnets")."""

SURGE_NODES, SURGE_PREFIXES = 2, 2
"""Surge of an update: a managed node group has two more nodes in a zone, which share the pods of drained nodes."""

_GIB_PER_FILE_SERVER = 1200


@dataclass(frozen=True, slots=True)
class PoolDemand:
    """The addresses that one pool needs in one zone at its maximum number of nodes."""

    pool: str
    nodes: int
    pods: int
    prefixes_per_node: int
    surge: int
    surge_prefixes: int = SURGE_PREFIXES

    @property
    def prefixes(self) -> int:
        """The number of /28 blocks."""
        return self.nodes * self.prefixes_per_node + self.surge * self.surge_prefixes

    @property
    def singles(self) -> int:
        """The number of interface addresses."""
        return (self.nodes + self.surge) * INTERFACES


@dataclass(frozen=True, slots=True)
class Demand:
    """The addresses that one zone's private subnet must hold if every pool has its maximum number of nodes."""

    zone: str
    pools: tuple[PoolDemand, ...]
    control_plane: int
    load_balancers: int
    endpoints: int
    file_systems: int
    reserved: int = AWS_RESERVED

    @property
    def prefixes(self) -> int:
        """The number of /28 blocks for pods."""
        return sum(pool.prefixes for pool in self.pools)

    @property
    def singles(self) -> int:
        """The number of addresses outside such blocks, including those that AWS reserves."""
        shared = self.control_plane + self.load_balancers + self.endpoints + self.file_systems
        return self.reserved + shared + sum(pool.singles for pool in self.pools)

    @property
    def addresses(self) -> int:
        """The total number of addresses."""
        return self.prefixes * PREFIX_SIZE + self.singles

    def fits(self, subnet: IPv4Network) -> bool:
        """Return whether a subnet that `prefix_blocks` divides holds the demand."""
        room = sum(block.num_addresses for block in prefix_blocks(subnet))
        return self.prefixes * PREFIX_SIZE <= room and self.singles <= subnet.num_addresses - room


def demands(context: EksContext) -> tuple[Demand, ...]:
    """Return the demand on each zone's private subnet, in the order of the zones."""
    return tuple(_demand(context, zone) for zone in context.zones)


def prefixes_per_node(pods: int) -> int:
    """Return the number of /28 blocks that a node with this many pods holds."""
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
    """Return the addresses of a file system, rounded up.

    EFS has a mount target; Lustre has a metadata server and a server for each 1200 GiB.
    """
    return 1 + math.ceil((capacity_gib or 0) / _GIB_PER_FILE_SERVER)
