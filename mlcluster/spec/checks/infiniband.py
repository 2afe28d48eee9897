"""Secondary networks on virtual functions of InfiniBand: their settings, their devices, their addresses."""

from collections.abc import Iterator

from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.components.network import SecondaryNetwork
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.known import as_far_as_known
from mlcluster.spec.secondary import networks
from mlcluster.spec.suggestions import listed

_TYPE = "ib-sriov"


def infiniband_problems(here: Loc, spec: ClusterSpec, network: SecondaryNetwork) -> Iterator[Problem]:
    """Yield the problems of one network.

    Args:
        here: the place of the network in the spec.
    """
    yield from _settings(here, network)
    if network.type == _TYPE:
        yield from _device(here, spec, network)
        yield from _selectors(spec, network)
        yield from _other_networks(here, spec, network)


@as_far_as_known
def _settings(here: Loc, network: SecondaryNetwork) -> Iterator[Problem]:
    for key, value in (("pKey", network.p_key), ("linkState", network.link_state)):
        if value is not None and network.type != _TYPE:
            message = f"{key} is of virtual functions of InfiniBand, and this network is of type {network.type}"
            yield Problem((*here, key), message, f"remove it, or set type: {_TYPE}", key=True)
    if network.type == _TYPE and network.ipam is not None and network.ipam.type == "dhcp":
        message = "InfiniBand interfaces get no addresses by dhcp"
        yield Problem((*here, "ipam", "type"), message, "type: whereabouts, or leave ipam out")


@as_far_as_known
def _device(here: Loc, spec: ClusterSpec, network: SecondaryNetwork) -> Iterator[Problem]:
    functions = list(dict.fromkeys(name for pool in spec.node_pools for name in pool.network.sriov))
    shared = {name for pool in spec.node_pools for name in pool.network.rdma}
    if network.resource in shared:
        message = f"{network.resource} is a device that pods share, and {_TYPE} moves a virtual function into a pod"
        hint = f"resource: {functions[0]}" if functions else "nodePools[].network: {sriov: {nvidia.com/vf: 8}}"
        yield Problem((*here, "resource"), message, hint)


@as_far_as_known
def _selectors(spec: ClusterSpec, network: SecondaryNetwork) -> Iterator[Problem]:
    plugin = spec.components.sriov_device_plugin
    given = plugin.resources.get(network.resource or "") if plugin is not None else None
    if given is None:
        return
    here: Loc = ("components", "sriovDevicePlugin", "resources", str(network.resource))
    if given.link_types and given.link_types != ["infiniband"]:
        message = f"network {network.name} is on InfiniBand, and these devices are of {listed(given.link_types)}"
        yield Problem((*here, "linkTypes"), message, "linkTypes: [infiniband]")
    if not given.rdma:
        message = f"without rdma a pod on network {network.name} gets the interface, but no InfiniBand device"
        yield Problem((*here, "rdma"), message, "remove it")


@as_far_as_known
def _other_networks(here: Loc, spec: ClusterSpec, network: SecondaryNetwork) -> Iterator[Problem]:
    for other in networks(spec):
        if other.type == "sriov" and other.resource is not None and other.resource == network.resource:
            message = f"network {other.name} takes {other.resource} for Ethernet, and this one for InfiniBand"
            yield Problem((*here, "resource"), message, "give each network a resource of its own")
            return
