"""Checks of the `eks` target: region, Kubernetes version, zones, and the VPC."""

import ipaddress
from collections.abc import Iterator, Sequence

from mlcluster.catalog.eks import eks_version, eks_versions, known_zones, regions, zones_of
from mlcluster.spec.checks.eks_access import endpoint_problems, principal_problems
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.eks import EksTarget
from mlcluster.spec.partial_checks import stop_at_unknown_value
from mlcluster.spec.suggestions import did_you_mean, listed
from mlcluster.spec.vpc_layout import LONGEST_VPC, SHORTEST_VPC, cluster_zones, layout

_NETWORK: Loc = ("target", "network")
_PRIVATE = tuple(
    ipaddress.IPv4Network(block) for block in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")
)
_FEWEST_ZONES = 2
_LAST_ZONE = "f"
"""The last zone letter of any region. An account can have zones that the catalog lacks; preflight checks them."""

_NEW_VPC_ONLY = {"cidr": "cidr", "nat": "nat", "endpoints": "endpoints"}


def eks_network_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Yield problems for the account, the network and the control plane of the cluster."""
    target = spec.target
    if target.kind != "eks":
        return
    yield from _region(target)
    yield from _zones(target)
    yield from _vpc(target)
    yield from endpoint_problems(target)
    yield from principal_problems(target)
    yield from _duplicate_entries(target)


@stop_at_unknown_value
def _vpc(target: EksTarget) -> Iterator[Problem]:
    yield from _existing_vpc(target) if target.network.vpc_id else _new_vpc(target)


@stop_at_unknown_value
def _duplicate_entries(target: EksTarget) -> Iterator[Problem]:
    yield from _duplicates(("target", "logs"), target.logs)
    yield from _duplicates((*_NETWORK, "endpoints"), target.network.endpoints)


@stop_at_unknown_value
def _region(target: EksTarget) -> Iterator[Problem]:
    if target.region not in regions():
        hint = did_you_mean(target.region, sorted(regions()), otherwise=f"Known regions: {listed(sorted(regions()))}")
        yield Problem(("target", "region"), f"unknown AWS region {target.region}", hint)
    if eks_version(target.kubernetes_version) is None:
        message = (
            f"unsupported Kubernetes version {target.kubernetes_version}: the catalog has no EKS add-ons and images"
        )
        yield Problem(("target", "kubernetesVersion"), message, f"Use one of {listed(eks_versions())}")


@stop_at_unknown_value
def _zones(target: EksTarget) -> Iterator[Problem]:
    zones = target.zones or []
    network = target.network
    places: list[tuple[Loc, str]] = [
        *((("target", "zones", index), zone) for index, zone in enumerate(zones)),
        *(((*_NETWORK, "privateSubnets", zone), zone) for zone in network.private_subnets),
        *(((*_NETWORK, "publicSubnets", zone), zone) for zone in network.public_subnets),
    ]
    for loc, zone in places:
        if zone[:-1] != target.region or zone[-1] > _LAST_ZONE:
            key = "network" in loc
            yield Problem(loc, f"{zone} is not a zone of {target.region}", _zone_hint(target, zone), key=key)
    yield from _duplicates(("target", "zones"), zones)


def _zone_hint(target: EksTarget, zone: str) -> str:
    if target.region not in regions():
        return ""
    known = known_zones(target.region)
    return did_you_mean(target.region + zone[-1], known, otherwise=f"Its zones are {listed(known)}")


@stop_at_unknown_value
def _existing_vpc(target: EksTarget) -> Iterator[Problem]:
    network = target.network
    for field, key in _NEW_VPC_ONLY.items():
        if field in network.model_fields_set:
            message = f"{key} has no effect, because mlcluster does not change the existing VPC {network.vpc_id}"
            yield Problem((*_NETWORK, key), message, f"Remove `{key}`", key=True)
    subnets = (*network.private_subnets.values(), *network.public_subnets.values())
    for kind, given in (("privateSubnets", network.private_subnets), ("publicSubnets", network.public_subnets)):
        for zone, subnet in given.items():
            if subnets.count(subnet) > 1:
                message = f"duplicate subnet {subnet}"
                yield Problem((*_NETWORK, kind, zone), message, "Use separate private and public subnets in each zone")
    yield from _subnet_zones(target)


@stop_at_unknown_value
def _subnet_zones(target: EksTarget) -> Iterator[Problem]:
    private = target.network.private_subnets
    if len(private) < _FEWEST_ZONES:
        message = f"expected private subnets in at least two zones with vpcId, got {len(private)}"
        yield Problem(_NETWORK, message, "Set `privateSubnets: {us-west-2a: subnet-..., us-west-2b: subnet-...}`")
    for index, zone in enumerate(target.zones or []):
        if private and zone not in private:
            yield Problem(
                ("target", "zones", index), f"network.privateSubnets has no subnet in {zone}", "Add the subnet"
            )
    known = cluster_zones(target)
    for kind, given in (("privateSubnets", private), ("publicSubnets", target.network.public_subnets)):
        for zone in given:
            if known and zone not in known and zone[:-1] == target.region:
                message = f"{zone} is not a zone of the cluster ({listed(known)})"
                yield Problem(
                    (*_NETWORK, kind, zone), message, "Add it to `target.zones` and `privateSubnets`", key=True
                )


@stop_at_unknown_value
def _new_vpc(target: EksTarget) -> Iterator[Problem]:
    network = target.network
    for key, given in (("privateSubnets", network.private_subnets), ("publicSubnets", network.public_subnets)):
        if given:
            message = f"{key} needs vpcId, the VPC of the subnets"
            yield Problem((*_NETWORK, key), message, f"Add `vpcId`, or remove `{key}` for a new VPC", key=True)
    zones = tuple(target.zones or zones_of(target.region))
    if target.region in regions() and len(zones) < _FEWEST_ZONES:
        message = f"EKS needs two zones, and the catalog has {len(zones)} of {target.region}"
        yield Problem(("target", "region"), message, "List the zones under `target.zones`")
    yield from _cidr((*_NETWORK, "cidr"), network.cidr, zones)


def _cidr(loc: Loc, cidr: str, zones: tuple[str, ...]) -> Iterator[Problem]:
    try:
        network = ipaddress.IPv4Network(cidr, strict=False)
    except ValueError:
        yield Problem(loc, f'expected an IPv4 address range, got "{cidr}"', "For example 10.0.0.0/16")
        return
    if str(network) != cidr:
        yield Problem(
            loc, f"expected an address range, got {cidr}, an address inside a range", f"Did you mean {network}?"
        )
    elif not SHORTEST_VPC <= network.prefixlen <= LONGEST_VPC:
        yield Problem(
            loc,
            f"expected a range from /{SHORTEST_VPC} to /{LONGEST_VPC}, got /{network.prefixlen}",
            f"For example {network[0]}/{SHORTEST_VPC}",
        )
    elif not any(network.subnet_of(block) for block in _PRIVATE):
        yield Problem(loc, f"expected a private range, got {cidr}", f"Use a part of {listed(map(str, _PRIVATE))}")
    elif zones and layout(cidr, zones) is None:
        message = (
            f"{cidr} is too small for a private and a public subnet in each of {len(zones)} zones (at least /28 each)"
        )
        yield Problem(loc, message, f"For example {network[0]}/{SHORTEST_VPC}")


def _duplicates(loc: Loc, words: Sequence[str]) -> Iterator[Problem]:
    for index, word in enumerate(words):
        if word in words[:index]:
            yield Problem((*loc, index), f"duplicate value {word}", "Remove one of the two")
