"""What follows from the secondary networks and fast networks of a spec, for the checks and for the plan alike."""

from collections.abc import Iterator

from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.components.network import SecondaryNetwork
from mlcluster.spec.pools import NodePool

RDMA_PREFIX = "rdma/"
"""Of every resource that the RDMA shared device plugin announces (its README, "resourcePrefix")."""


def networks(spec: ClusterSpec) -> tuple[SecondaryNetwork, ...]:
    """The secondary networks, in the order of the spec."""
    multus = spec.components.multus
    return tuple(multus.networks) if multus is not None else ()


def pools_of(spec: ClusterSpec, network: SecondaryNetwork) -> tuple[NodePool, ...]:
    """The pools whose nodes have a network: those it names, those that offer its resource, or fast ones, or all."""
    any_fast = _any_fast(spec)
    return tuple(pool for pool in spec.node_pools if _has(network, pool, any_fast=any_fast))


def _has(network: SecondaryNetwork, pool: NodePool, *, any_fast: bool) -> bool:
    if network.pools is not None:
        return pool.name in network.pools
    found = offered(pool)
    return network.resource in found if network.resource is not None else bool(found) or not any_fast


def _any_fast(spec: ClusterSpec) -> bool:
    return any(map(offered, spec.node_pools))


def offered(pool: NodePool) -> dict[str, int]:
    """What the fast networks of a node offer to pods, EFA aside: resource -> how many."""
    return {**pool.network.rdma, **pool.network.sriov}


def rdma_of(pool: NodePool) -> dict[str, int]:
    """What the RDMA shared device plugin announces on a node of the pool."""
    return {name: count for name, count in pool.network.rdma.items() if name.startswith(RDMA_PREFIX)}


def namespaces_of(spec: ClusterSpec, network: SecondaryNetwork) -> Iterator[str]:
    """Where pods may join the network: the namespaces of its teams, and those that it names."""
    for team in spec.teams:
        if network.teams is None or team.name in network.teams:
            yield team.name
    yield from network.namespaces


def operator_runs(spec: ClusterSpec) -> bool:
    """Whether the Network Operator is there, and with it the one owner of RDMA, SR-IOV and Multus."""
    return spec.components.network_operator is not None


def gated_pools(spec: ClusterSpec) -> tuple[NodePool, ...]:
    """Pools whose new nodes take no work before their secondary networks are there."""
    return tuple(pool for pool in spec.node_pools if is_gated(spec, pool)) if _gates(spec) else ()


def is_gated(spec: ClusterSpec, pool: NodePool) -> bool:
    """Whether a pool is one of these."""
    if not _gates(spec):
        return False
    any_fast = _any_fast(spec)
    return any(_has(network, pool, any_fast=any_fast) for network in networks(spec))


def _gates(spec: ClusterSpec) -> bool:
    multus = spec.components.multus
    return multus is not None and multus.startup_taint and spec.target.kind != "local"


def readiness_wanted(spec: ClusterSpec) -> bool:
    """Whether the node readiness controller is in the plan: asked for, or for the nodes of secondary networks."""
    return spec.components.node_readiness is not None or bool(gated_pools(spec))
