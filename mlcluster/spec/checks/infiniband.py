"""Checks of secondary networks of type ib-sriov: their settings, devices and addresses."""

from collections.abc import Iterator

from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.components.network import SecondaryNetwork
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.partial_checks import stop_at_unknown_value
from mlcluster.spec.secondary_networks import networks, offered_names, sriov_of
from mlcluster.spec.suggestions import listed

_TYPE = "ib-sriov"


def infiniband_problems(here: Loc, spec: ClusterSpec, network: SecondaryNetwork) -> Iterator[Problem]:
    """Yield the problems of a network.

    Args:
        here: the path of the network.
        spec: the spec.
        network: the network.
    """
    yield from _settings(here, network)
    if network.type == _TYPE:
        yield from _device(here, spec, network)
        yield from _selectors(spec, network)
        yield from _other_networks(here, spec, network)


@stop_at_unknown_value
def _settings(here: Loc, network: SecondaryNetwork) -> Iterator[Problem]:
    for key, value in (("pKey", network.p_key), ("linkState", network.link_state)):
        if value is not None and network.type != _TYPE:
            message = f"{key} is not supported by networks of type {network.type}, only by {_TYPE}"
            yield Problem((*here, key), message, f"Remove it, or set `type: {_TYPE}`", key=True)
    if network.type == _TYPE and network.ipam is not None and network.ipam.type == "dhcp":
        message = "InfiniBand interfaces do not support DHCP"
        yield Problem((*here, "ipam", "type"), message, "Set `type: whereabouts`, or remove `ipam`")


@stop_at_unknown_value
def _device(here: Loc, spec: ClusterSpec, network: SecondaryNetwork) -> Iterator[Problem]:
    functions = offered_names(spec, sriov_of)
    shared = {name for pool in spec.node_pools for name in pool.network.rdma}
    if network.resource in shared:
        message = f"{_TYPE} needs a virtual function, and {network.resource} is a shared device"
        add = "Set `network: {sriov: {nvidia.com/vf: 8}}` on the pools with virtual functions"
        hint = f"Set `resource: {functions[0]}`" if functions else add
        yield Problem((*here, "resource"), message, hint)


@stop_at_unknown_value
def _selectors(spec: ClusterSpec, network: SecondaryNetwork) -> Iterator[Problem]:
    plugin = spec.components.sriov_device_plugin
    given = plugin.resources.get(network.resource or "") if plugin is not None else None
    if given is None:
        return
    here: Loc = ("components", "sriovDevicePlugin", "resources", str(network.resource))
    if given.link_types and given.link_types != ["infiniband"]:
        message = f"network {network.name} needs InfiniBand devices, got {listed(given.link_types)}"
        yield Problem((*here, "linkTypes"), message, "Set `linkTypes: [infiniband]`")
    if not given.rdma:
        message = f"pods on network {network.name} need the RDMA device of the virtual function"
        yield Problem((*here, "rdma"), message, "Remove `rdma: false`")


@stop_at_unknown_value
def _other_networks(here: Loc, spec: ClusterSpec, network: SecondaryNetwork) -> Iterator[Problem]:
    for other in networks(spec):
        if other.type == "sriov" and other.resource is not None and other.resource == network.resource:
            message = f"network {other.name} uses {other.resource} for Ethernet, and this network for InfiniBand"
            yield Problem((*here, "resource"), message, "Use a separate resource for each network")
            return
