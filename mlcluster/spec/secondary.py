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
    if network.pools is not None:
        return tuple(pool for pool in spec.node_pools if pool.name in network.pools)
    if network.resource is not None:
        return tuple(pool for pool in spec.node_pools if network.resource in offered(pool))
    fast = tuple(pool for pool in spec.node_pools if offered(pool))
    return fast or tuple(spec.node_pools)


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
    multus = spec.components.multus
    if multus is None or not multus.startup_taint or spec.target.kind == "local":
        return ()
    named = {pool.name for network in multus.networks for pool in pools_of(spec, network)}
    return tuple(pool for pool in spec.node_pools if pool.name in named)


def readiness_wanted(spec: ClusterSpec) -> bool:
    """Whether the node readiness controller is in the plan: asked for, or for the nodes of secondary networks."""
    return spec.components.node_readiness is not None or bool(gated_pools(spec))
