"""IPPools of nv-ipam, with a block of addresses for each node (Mellanox/nvidia-k8s-ipam, README and deploy/crds)."""

import ipaddress
from collections.abc import Iterator

from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.daemon_sets import pool_node_selector
from mlcluster.plan.model import Manifest, PlanObject
from mlcluster.plan.objects import make
from mlcluster.spec.components.network import NetworkIpam
from mlcluster.spec.secondary_networks import networks, pools_of

API, KIND = "nv-ipam.nvidia.com/v1alpha1", "IPPool"


def ip_pools(context: ComponentContext, namespace: str, needs: tuple[str, ...]) -> Iterator[PlanObject]:
    """Yield the IPPool of each network with addresses from nv-ipam; it has the name of the network.

    Args:
        namespace: the namespace of the Network Operator, the only one that nv-ipam watches.
    """
    for index, network in enumerate(networks(context.spec)):
        given = network.ipam
        if given is None or given.type != "nv-ipam":
            continue
        names = {pool.name for pool in pools_of(context.spec, network)}
        pools = [pool for pool in context.pools if pool.name in names]
        spec: Manifest = {
            "subnet": given.range,
            "perNodeBlockSize": given.per_node_block_size,
            **({"gateway": given.gateway} if given.gateway else {}),
            **_exclusions(given),
            "nodeSelector": pool_node_selector(pools),
        }
        path = ("components", "multus", "networks", index, "ipam")
        yield make(
            context.cluster, API, KIND, network.name, {"spec": spec}, namespace=namespace, needs=needs, spec_path=path
        )


def _exclusions(given: NetworkIpam) -> Manifest:
    ranges = [ipaddress.ip_network(text) for text in given.exclude]
    found = [{"startIP": str(one[0]), "endIP": str(one[-1])} for one in ranges]
    return {"exclusions": found} if found else {}
