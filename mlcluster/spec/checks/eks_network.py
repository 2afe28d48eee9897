"""The `eks` target: a region and a version that the catalogue knows, zones, and a network that can be made."""

import ipaddress
from collections.abc import Iterator, Sequence

from mlcluster.catalog.eks import eks_version, eks_versions, known_zones, regions, zones_of
from mlcluster.spec.checks.eks_reach import endpoint_problems, principal_problems
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.eks import EksTarget
from mlcluster.spec.known import as_far_as_known
from mlcluster.spec.suggestions import did_you_mean, listed
from mlcluster.spec.vpc_layout import LONGEST_VPC, SHORTEST_VPC, layout

_NETWORK: Loc = ("target", "network")
_PRIVATE = tuple(
    ipaddress.IPv4Network(block) for block in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")
)
_FEWEST_ZONES = 2
_LAST_ZONE = "f"
"""No region has a zone after it. Within it, an account may have zones that the catalogue has not; preflight asks."""

_NEW_VPC_ONLY = {"cidr": "cidr", "nat": "nat", "endpoints": "endpoints"}


def eks_network_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Everything of the account, the network and the control plane that cannot be made as the spec has it."""
    target = spec.target
    if target.kind != "eks":
        return
    yield from _region(target)
    yield from _zones(target)
    yield from _vpc(target)
    yield from endpoint_problems(target)
    yield from principal_problems(target)
    yield from _repeated(target)


@as_far_as_known
def _vpc(target: EksTarget) -> Iterator[Problem]:
    yield from _existing_vpc(target) if target.network.vpc_id else _new_vpc(target)


@as_far_as_known
def _repeated(target: EksTarget) -> Iterator[Problem]:
    yield from _twice(("target", "logs"), target.logs)
    yield from _twice((*_NETWORK, "endpoints"), target.network.endpoints)


def cluster_zones(target: EksTarget) -> tuple[str, ...]:
    """Zones of the subnets: what the spec says, else those of its subnets, else the first of the region."""
    return tuple(target.zones or target.network.private_subnets or zones_of(target.region))


@as_far_as_known
def _region(target: EksTarget) -> Iterator[Problem]:
    if target.region not in regions():
        hint = did_you_mean(target.region, sorted(regions()), otherwise=f"known: {listed(sorted(regions()))}")
        yield Problem(("target", "region"), f"the catalogue knows no AWS region {target.region}", hint)
    if eks_version(target.kubernetes_version) is None:
        message = f"the catalogue pins no add-ons and images for EKS {target.kubernetes_version}"
        yield Problem(("target", "kubernetesVersion"), message, f"choose one of {listed(eks_versions())}")


@as_far_as_known
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
    yield from _twice(("target", "zones"), zones)


def _zone_hint(target: EksTarget, zone: str) -> str:
    if target.region not in regions():
        return ""
    known = known_zones(target.region)
    return did_you_mean(target.region + zone[-1], known, otherwise=f"its zones are {listed(known)}")


@as_far_as_known
def _existing_vpc(target: EksTarget) -> Iterator[Problem]:
    network = target.network
    for field, key in _NEW_VPC_ONLY.items():
        if field in network.model_fields_set:
            message = f"{network.vpc_id} is there already, and nothing of it is changed"
            yield Problem((*_NETWORK, key), message, f"leave {key} out", key=True)
    subnets = (*network.private_subnets.values(), *network.public_subnets.values())
    for kind, given in (("privateSubnets", network.private_subnets), ("publicSubnets", network.public_subnets)):
        for zone, subnet in given.items():
            if subnets.count(subnet) > 1:
                message = f"{subnet} stands here more than once"
                yield Problem(
                    (*_NETWORK, kind, zone), message, "each zone has a private and a public subnet of its own"
                )
    yield from _subnet_zones(target)


@as_far_as_known
def _subnet_zones(target: EksTarget) -> Iterator[Problem]:
    private = target.network.private_subnets
    if len(private) < _FEWEST_ZONES:
        message = f"vpcId comes with the private subnets of at least two zones; there are {len(private)}"
        yield Problem(_NETWORK, message, "privateSubnets: {us-west-2a: subnet-..., us-west-2b: subnet-...}")
    for index, zone in enumerate(target.zones or []):
        if private and zone not in private:
            yield Problem(("target", "zones", index), f"network.privateSubnets has no subnet in {zone}", "add it there")
    known = cluster_zones(target)
    for kind, given in (("privateSubnets", private), ("publicSubnets", target.network.public_subnets)):
        for zone in given:
            if known and zone not in known and zone[:-1] == target.region:
                message = f"{zone} is not one of the cluster's zones ({listed(known)})"
                yield Problem((*_NETWORK, kind, zone), message, "add it to target.zones and privateSubnets", key=True)


@as_far_as_known
def _new_vpc(target: EksTarget) -> Iterator[Problem]:
    network = target.network
    for key, given in (("privateSubnets", network.private_subnets), ("publicSubnets", network.public_subnets)):
        if given:
            message = "subnets are given, but not the VPC that they are in"
            yield Problem((*_NETWORK, key), message, "add vpcId, or leave them out for a new VPC", key=True)
    zones = tuple(target.zones or zones_of(target.region))
    if target.region in regions() and len(zones) < _FEWEST_ZONES:
        message = f"EKS needs two zones, and the catalogue knows {len(zones)} of {target.region}"
        yield Problem(("target", "region"), message, "name them under target.zones")
    yield from _cidr((*_NETWORK, "cidr"), network.cidr, zones)


def _cidr(loc: Loc, cidr: str, zones: tuple[str, ...]) -> Iterator[Problem]:
    try:
        network = ipaddress.IPv4Network(cidr, strict=False)
    except ValueError:
        yield Problem(loc, f'"{cidr}" is not an IPv4 range', "for example 10.0.0.0/16")
        return
    if str(network) != cidr:
        yield Problem(loc, f"{cidr} is an address inside a range, not a range", f"did you mean {network}?")
    elif not SHORTEST_VPC <= network.prefixlen <= LONGEST_VPC:
        yield Problem(
            loc, f"a VPC is a /{SHORTEST_VPC} to a /{LONGEST_VPC}", f"for example {network[0]}/{SHORTEST_VPC}"
        )
    elif not any(network.subnet_of(block) for block in _PRIVATE):
        yield Problem(loc, f"{cidr} is not a private range", f"use a part of {listed(map(str, _PRIVATE))}")
    elif zones and layout(cidr, zones) is None:
        message = f"{cidr} is too small for a private and a public subnet in {len(zones)} zones: a subnet is a /28"
        yield Problem(loc, message, f"for example {network[0]}/{SHORTEST_VPC}")


def _twice(loc: Loc, words: Sequence[str]) -> Iterator[Problem]:
    for index, word in enumerate(words):
        if word in words[:index]:
            yield Problem((*loc, index), f"{word} is given twice", "once is enough")
