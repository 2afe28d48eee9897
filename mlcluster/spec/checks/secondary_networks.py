"""Secondary networks: what each type needs, who may join, and whether the addresses suffice."""

import ipaddress
from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Network

from mlcluster.spec.checks.infiniband import infiniband_problems
from mlcluster.spec.checks.ranges import Range, address_range
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.components.network import NetworkIpam, SecondaryNetwork
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.known import as_far_as_known
from mlcluster.spec.secondary import namespaces_of, networks, offered, operator_runs, pools_of
from mlcluster.spec.suggestions import did_you_mean, listed

_EXAMPLE = "10.60.0.0/16"

_ON_AN_INTERFACE = frozenset({"macvlan", "ipvlan", "ipoib"})
_OF_A_DEVICE = frozenset({"host-device", "sriov", "ib-sriov"})
_MODES = {"macvlan": ("bridge", "private", "vepa", "passthru"), "ipvlan": ("l2", "l3", "l3s")}
_NEEDS = {"whereabouts": "range", "nv-ipam": "range", "static": "addresses", "dhcp": ""}
_ALL_OF_IPAM = {"range", "exclude", "addresses"}
_TAKES = {
    "whereabouts": {"range", "exclude"},
    "nv-ipam": {"range", "exclude"},
    "static": {"addresses"},
    "dhcp": set[str](),
}


def secondary_network_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Networks that no pod could join, and such as would hand out what is not theirs."""
    first: dict[tuple[str, str], int] = {}
    for index, network in enumerate(networks(spec)):
        here: Loc = ("components", "multus", "networks", index)
        yield from _places(here, spec, network)
        yield from _stands_on(here, spec, network)
        yield from _words(here, network)
        yield from infiniband_problems(here, spec, network)
        if network.ipam is not None:
            yield from _addresses((*here, "ipam"), spec, network, network.ipam)
        for namespace in namespaces_of(spec, network):
            other = first.setdefault((namespace, network.name), index)
            if other != index:
                message = f"networks[{other}] is called {network.name} too, in namespace {namespace}"
                yield Problem((*here, "name"), message, "give each network a name of its own")
                break


@as_far_as_known
def _places(here: Loc, spec: ClusterSpec, network: SecondaryNetwork) -> Iterator[Problem]:
    teams, pools = [team.name for team in spec.teams], [pool.name for pool in spec.node_pools]
    for key, names, known in (("teams", network.teams, teams), ("pools", network.pools, pools)):
        for position, name in enumerate(names or ()):
            if name not in known:
                hint = did_you_mean(name, known, otherwise=f"{key}: {listed(known)}")
                yield Problem((*here, key, position), f"there is no {key.removesuffix('s')} {name}", hint)
    for position, name in enumerate(network.namespaces):
        if name in teams:
            yield Problem((*here, "namespaces", position), f"{name} is a team's", "name it under teams")
    if network.teams == [] and not network.namespaces:
        yield Problem((*here, "teams"), "nobody may join this network", "name a team, or leave teams out for all")


@as_far_as_known
def _stands_on(here: Loc, spec: ClusterSpec, network: SecondaryNetwork) -> Iterator[Problem]:
    """The interface or the device that the network needs."""
    if network.type in _ON_AN_INTERFACE and network.master is None:
        message = f"master is missing: the interface of the node that a network of type {network.type} stands on"
        yield Problem(here, message, "for example master: eth1")
    elif network.type in _OF_A_DEVICE and network.resource is None:
        message = f"resource is missing: type {network.type} gives the pod the device that it got of it"
        every = list(dict.fromkeys(name for pool in spec.node_pools for name in offered(pool)))
        yield Problem(here, message, f"for example resource: {every[0] if every else 'nvidia.com/mlnx_vf'}")
    if network.type in _OF_A_DEVICE and network.master is not None:
        yield Problem((*here, "master"), f"{network.type} stands on a device, not an interface", "remove it", key=True)
    if network.resource is not None:
        yield from _resource((*here, "resource"), spec, network, network.resource)


def _resource(loc: Loc, spec: ClusterSpec, network: SecondaryNetwork, resource: str) -> Iterator[Problem]:
    every = list(dict.fromkeys(name for pool in spec.node_pools for name in offered(pool)))
    if resource not in every:
        otherwise = f"pools offer {listed(every)}" if every else "nodePools[].network: {rdma: ...} or {sriov: ...}"
        yield Problem(loc, f"no pool offers {resource}", did_you_mean(resource, every, otherwise=otherwise))
        return
    without = [pool.name for pool in pools_of(spec, network) if resource not in offered(pool)]
    if without:
        message = f"pool {listed(without)} of this network does not offer {resource}"
        yield Problem(loc, message, "leave pools out, or name only those that offer it")


@as_far_as_known
def _words(here: Loc, network: SecondaryNetwork) -> Iterator[Problem]:
    """Settings that the type has not, or not so."""
    modes = _MODES.get(network.type, ())
    if network.mode is not None and network.mode not in modes:
        what = f"{network.type} has the modes {listed(modes)}" if modes else f"{network.type} has no modes"
        yield Problem((*here, "mode"), what, f"mode: {modes[0]}" if modes else "remove it", key=not modes)
    if network.mtu is not None and network.type not in _MODES:
        message = f"networks of type {network.type} have the MTU of their device"
        yield Problem((*here, "mtu"), message, "set it on the node", key=True)
    if network.vlan is not None and network.type != "sriov":
        yield Problem((*here, "vlan"), "only sriov networks have a VLAN here", "remove it", key=True)


@as_far_as_known
def _addresses(loc: Loc, spec: ClusterSpec, network: SecondaryNetwork, ipam: NetworkIpam) -> Iterator[Problem]:
    if ipam.type == "nv-ipam" and not operator_runs(spec):
        message = "nv-ipam comes with the Network Operator, which is not there"
        yield Problem((*loc, "type"), message, "components: {networkOperator: {}}, or type: whereabouts")
    needed = _NEEDS[ipam.type]
    said = {key for key in _ALL_OF_IPAM if getattr(ipam, key)}
    if needed and needed not in said:
        example = _EXAMPLE if needed == "range" else "[10.60.0.5/16]"
        yield Problem(loc, f"{needed} is missing: {ipam.type} has no other", f"for example {needed}: {example}")
    for key in sorted(said - _TAKES[ipam.type]):
        yield Problem((*loc, key), f"{ipam.type} takes no {key}", "remove it, or choose another type", key=True)
    whole = None if ipam.range is None else (yield from address_range((*loc, "range"), ipam.range, _EXAMPLE))
    if whole is not None:
        yield from _inside(loc, ipam, whole)
        if ipam.type == "nv-ipam":
            yield from _blocks(loc, spec, network, ipam, whole)
    for position, text in enumerate(ipam.addresses):
        if _interface(text) is None:
            yield Problem((*loc, "addresses", position), f'"{text}" is no address with a prefix', "e.g. 10.60.0.5/16")


def _inside(loc: Loc, ipam: NetworkIpam, whole: Range) -> Iterator[Problem]:
    """What stands in the range must."""
    for position, text in enumerate(ipam.exclude):
        part = yield from address_range((*loc, "exclude", position), text, _EXAMPLE)
        if part is not None and not _within(part, whole):
            yield Problem((*loc, "exclude", position), f"{text} is outside {whole}", "remove it, or correct it")
    if ipam.gateway is None:
        return
    try:
        gateway = ipaddress.ip_address(ipam.gateway)
    except ValueError:
        yield Problem((*loc, "gateway"), f'"{ipam.gateway}" is not an address', f"for example {whole[1]}")
        return
    if gateway not in whole:
        yield Problem((*loc, "gateway"), f"{gateway} is outside {whole}", f"for example {whole[1]}")


@as_far_as_known
def _blocks(
    loc: Loc, spec: ClusterSpec, network: SecondaryNetwork, ipam: NetworkIpam, whole: Range
) -> Iterator[Problem]:
    """nv-ipam: a block for every node that there may be."""
    pools = pools_of(spec, network)
    nodes = sum(pool.max_size for pool in pools)
    needed, room = nodes * ipam.per_node_block_size, whole.num_addresses - 2
    if needed > room:
        place = (*loc, "perNodeBlockSize") if "per_node_block_size" in ipam.model_fields_set else (*loc, "range")
        message = (
            f"{nodes} nodes at maxSize ({listed(pool.name for pool in pools)}) x {ipam.per_node_block_size} addresses "
            f"are {needed}; {whole} has {room}"
        )
        most = room // nodes if nodes else 0
        hint = f"perNodeBlockSize: {most}, or a larger range" if most else "a larger range"
        yield Problem(place, message, hint)


def _within(part: Range, whole: Range) -> bool:
    if isinstance(part, IPv4Network) and isinstance(whole, IPv4Network):
        return part.subnet_of(whole)
    return isinstance(part, IPv6Network) and isinstance(whole, IPv6Network) and part.subnet_of(whole)


def _interface(text: str) -> object | None:
    try:
        return ipaddress.ip_interface(text)
    except ValueError:
        return None
