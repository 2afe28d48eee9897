"""Checks of secondary networks: settings of each type, teams and pools, and IP addresses."""

import ipaddress
from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Network

from mlcluster.spec.checks.infiniband import infiniband_problems
from mlcluster.spec.checks.ip_ranges import Range, address_range
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.components.network import NetworkIpam, SecondaryNetwork
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.partial_checks import stop_at_unknown_value
from mlcluster.spec.secondary_networks import namespaces_of, networks, offered, offered_names, operator_runs, pools_of
from mlcluster.spec.suggestions import did_you_mean, listed

_EXAMPLE = "10.60.0.0/16"

_INTERFACE_TYPES = frozenset({"macvlan", "ipvlan", "ipoib"})
_DEVICE_TYPES = frozenset({"host-device", "sriov", "ib-sriov"})
_MODES = {"macvlan": ("bridge", "private", "vepa", "passthru"), "ipvlan": ("l2", "l3", "l3s")}
_REQUIRED = {"whereabouts": "range", "nv-ipam": "range", "static": "addresses", "dhcp": ""}
_IPAM_SETTINGS = {"range", "exclude", "addresses"}
_ALLOWED = {
    "whereabouts": {"range", "exclude"},
    "nv-ipam": {"range", "exclude"},
    "static": {"addresses"},
    "dhcp": set[str](),
}


def secondary_network_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Yield problems for secondary networks with missing, unknown or conflicting settings."""
    first: dict[tuple[str, str], int] = {}
    for index, network in enumerate(networks(spec)):
        here: Loc = ("components", "multus", "networks", index)
        yield from _references(here, spec, network)
        yield from _devices(here, spec, network)
        yield from _type_settings(here, network)
        yield from infiniband_problems(here, spec, network)
        if network.ipam is not None:
            yield from _addresses((*here, "ipam"), spec, network, network.ipam)
        for namespace in namespaces_of(spec, network):
            other = first.setdefault((namespace, network.name), index)
            if other != index:
                message = f"duplicate network {network.name} in namespace {namespace}; it is also networks[{other}]"
                yield Problem((*here, "name"), message, "Use a unique name")
                break


@stop_at_unknown_value
def _references(here: Loc, spec: ClusterSpec, network: SecondaryNetwork) -> Iterator[Problem]:
    teams, pools = [team.name for team in spec.teams], [pool.name for pool in spec.node_pools]
    for key, names, known in (("teams", network.teams, teams), ("pools", network.pools, pools)):
        for position, name in enumerate(names or ()):
            if name not in known:
                hint = did_you_mean(name, known, otherwise=f"{key.capitalize()}: {listed(known)}")
                yield Problem((*here, key, position), f"unknown {key.removesuffix('s')} {name}", hint)
    for position, name in enumerate(network.namespaces):
        if name in teams:
            yield Problem((*here, "namespaces", position), f"{name} is the namespace of a team", "Move it to `teams`")
    if network.teams == [] and not network.namespaces:
        message = "no pod can join this network, because teams and namespaces are empty"
        yield Problem((*here, "teams"), message, "Add a team, or remove `teams` to allow all teams")


@stop_at_unknown_value
def _devices(here: Loc, spec: ClusterSpec, network: SecondaryNetwork) -> Iterator[Problem]:
    """Yield problems for the host interface or the resource of the network."""
    if network.type in _INTERFACE_TYPES and network.master is None:
        message = f"master is missing; networks of type {network.type} need a host interface"
        yield Problem(here, message, "For example `master: eth1`")
    elif network.type in _DEVICE_TYPES and network.resource is None:
        message = f"resource is missing; networks of type {network.type} need the resource of their devices"
        every = offered_names(spec)
        yield Problem(here, message, f"For example `resource: {every[0] if every else 'nvidia.com/mlnx_vf'}`")
    if network.type in _DEVICE_TYPES and network.master is not None:
        message = f"master is not supported by networks of type {network.type}, which use resource"
        yield Problem((*here, "master"), message, "Remove it", key=True)
    if network.resource is not None:
        yield from _resource((*here, "resource"), spec, network, network.resource)


def _resource(loc: Loc, spec: ClusterSpec, network: SecondaryNetwork, resource: str) -> Iterator[Problem]:
    every = offered_names(spec)
    if resource not in every:
        otherwise = (
            f"Pools offer {listed(every)}" if every else "Add it to `nodePools[].network`, under `rdma` or `sriov`"
        )
        yield Problem(loc, f"no pool offers {resource}", did_you_mean(resource, every, otherwise=otherwise))
        return
    without = [pool.name for pool in pools_of(spec, network) if resource not in offered(pool)]
    if without:
        noun, verb = ("pool", "does") if len(without) == 1 else ("pools", "do")
        message = f"{noun} {listed(without)} of this network {verb} not offer {resource}"
        yield Problem(loc, message, "Remove `pools`, or list only pools that offer the resource")


@stop_at_unknown_value
def _type_settings(here: Loc, network: SecondaryNetwork) -> Iterator[Problem]:
    """Yield problems for settings that the type does not support."""
    modes = _MODES.get(network.type, ())
    if network.mode is not None and network.mode not in modes:
        one_of = f"expected one of {listed(modes)} for type {network.type}, got {network.mode}"
        message = one_of if modes else f"mode is not supported by networks of type {network.type}"
        yield Problem((*here, "mode"), message, f"Set `mode: {modes[0]}`" if modes else "Remove it", key=not modes)
    if network.mtu is not None and network.type not in _MODES:
        message = f"mtu is not supported by networks of type {network.type}, which use the MTU of their device"
        yield Problem((*here, "mtu"), message, "Set the MTU on the nodes", key=True)
    if network.vlan is not None and network.type != "sriov":
        message = f"vlan is not supported by networks of type {network.type}, only by sriov"
        yield Problem((*here, "vlan"), message, "Remove it", key=True)


@stop_at_unknown_value
def _addresses(loc: Loc, spec: ClusterSpec, network: SecondaryNetwork, ipam: NetworkIpam) -> Iterator[Problem]:
    if ipam.type == "nv-ipam" and not operator_runs(spec):
        message = "nv-ipam needs the Network Operator"
        yield Problem(
            (*loc, "type"), message, "Add `networkOperator: {}` under `components`, or set `type: whereabouts`"
        )
    needed = _REQUIRED[ipam.type]
    given = {key for key in _IPAM_SETTINGS if getattr(ipam, key)}
    if needed and needed not in given:
        example = _EXAMPLE if needed == "range" else "[10.60.0.5/16]"
        yield Problem(loc, f"{needed} is missing; {ipam.type} needs it", f"For example `{needed}: {example}`")
    for key in sorted(given - _ALLOWED[ipam.type]):
        yield Problem((*loc, key), f"{key} is not supported by {ipam.type}", "Remove it, or use another type", key=True)
    whole = None if ipam.range is None else (yield from address_range((*loc, "range"), ipam.range, _EXAMPLE))
    if whole is not None:
        yield from _inside(loc, ipam, whole)
        if ipam.type == "nv-ipam":
            yield from _blocks(loc, spec, network, ipam, whole)
    for position, text in enumerate(ipam.addresses):
        if _interface(text) is None:
            yield Problem(
                (*loc, "addresses", position),
                f'expected an IP address with a prefix length, got "{text}"',
                "For example 10.60.0.5/16",
            )


def _inside(loc: Loc, ipam: NetworkIpam, whole: Range) -> Iterator[Problem]:
    """Yield problems for excluded ranges and a gateway outside the range."""
    for position, text in enumerate(ipam.exclude):
        part = yield from address_range((*loc, "exclude", position), text, _EXAMPLE)
        if part is not None and not _within(part, whole):
            yield Problem(
                (*loc, "exclude", position), f"expected a part of {whole}, got {text}", "Remove or correct it"
            )
    if ipam.gateway is None:
        return
    try:
        gateway = ipaddress.ip_address(ipam.gateway)
    except ValueError:
        yield Problem((*loc, "gateway"), f'expected an IP address, got "{ipam.gateway}"', f"For example {whole[1]}")
        return
    if gateway not in whole:
        yield Problem((*loc, "gateway"), f"expected an address in {whole}, got {gateway}", f"For example {whole[1]}")


@stop_at_unknown_value
def _blocks(
    loc: Loc, spec: ClusterSpec, network: SecondaryNetwork, ipam: NetworkIpam, whole: Range
) -> Iterator[Problem]:
    """Yield a problem if the range of nv-ipam is too small for a block on every node."""
    pools = pools_of(spec, network)
    nodes = sum(pool.max_size for pool in pools)
    needed, room = nodes * ipam.per_node_block_size, whole.num_addresses - 2
    if needed > room:
        place = (*loc, "perNodeBlockSize") if "per_node_block_size" in ipam.model_fields_set else (*loc, "range")
        message = (
            f"{whole} is too small: {nodes} nodes ({listed(pool.name for pool in pools)}) with "
            f"{ipam.per_node_block_size} addresses each need {needed}, and it has {room}"
        )
        most = room // nodes if nodes else 0
        hint = f"Set `perNodeBlockSize: {most}`, or use a larger range" if most else "Use a larger range"
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
