"""Secondary networks, RDMA and SR-IOV of a spec, for the checks and the plan."""

from collections.abc import Callable, Iterator, Mapping

from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.components.network import SecondaryNetwork
from mlcluster.spec.pools import NodePool

RDMA_PREFIX = "rdma/"
"""The prefix of the resources of the RDMA shared device plugin (its README, "resourcePrefix")."""


def networks(spec: ClusterSpec) -> tuple[SecondaryNetwork, ...]:
    """Return the secondary networks in the order of the spec."""
    multus = spec.components.multus
    return tuple(multus.networks) if multus is not None else ()


def pools_of(spec: ClusterSpec, network: SecondaryNetwork) -> tuple[NodePool, ...]:
    """Return the pools of a network: those in `pools`, those that offer its resource, those with RDMA, or all."""
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
    """Return the RDMA and SR-IOV resources of a node with their counts."""
    return {**pool.network.rdma, **pool.network.sriov}


def offered_names(spec: ClusterSpec, read: Callable[[NodePool], Mapping[str, int]] = offered) -> list[str]:
    """Return the names of the resources that the pools offer, each once.

    Args:
        spec: the spec.
        read: returns the resources of a pool; by default all RDMA and SR-IOV resources.
    """
    return list(dict.fromkeys(name for pool in spec.node_pools for name in read(pool)))


def sriov_of(pool: NodePool) -> dict[str, int]:
    """Return the SR-IOV resources of a node with their counts."""
    return pool.network.sriov


def rdma_of(pool: NodePool) -> dict[str, int]:
    """Return the resources of the RDMA shared device plugin on a node, with their counts."""
    return {name: count for name, count in pool.network.rdma.items() if name.startswith(RDMA_PREFIX)}


def namespaces_of(spec: ClusterSpec, network: SecondaryNetwork) -> Iterator[str]:
    """Yield the namespaces whose pods can join the network."""
    for team in spec.teams:
        if network.teams is None or team.name in network.teams:
            yield team.name
    yield from network.namespaces


def operator_runs(spec: ClusterSpec) -> bool:
    """Return whether the spec has the Network Operator, which then manages RDMA, SR-IOV and Multus."""
    return spec.components.network_operator is not None


def pools_with_network_taint(spec: ClusterSpec) -> tuple[NodePool, ...]:
    """Return the pools whose new nodes are tainted until their secondary networks are ready."""
    return tuple(pool for pool in spec.node_pools if has_network_taint(spec, pool)) if _gates(spec) else ()


def has_network_taint(spec: ClusterSpec, pool: NodePool) -> bool:
    """Return whether the new nodes of a pool are tainted until their secondary networks are ready."""
    if not _gates(spec):
        return False
    any_fast = _any_fast(spec)
    return any(_has(network, pool, any_fast=any_fast) for network in networks(spec))


def _gates(spec: ClusterSpec) -> bool:
    multus = spec.components.multus
    return multus is not None and multus.startup_taint and spec.target.kind != "local"


def readiness_wanted(spec: ClusterSpec) -> bool:
    """Return whether the plan needs the Node Readiness Controller: from the spec, or for secondary networks."""
    return spec.components.node_readiness is not None or bool(pools_with_network_taint(spec))
