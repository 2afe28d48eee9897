"""The `eks` target: who reaches the Kubernetes API, from where, and which key encrypts its secrets."""

import ipaddress
from collections.abc import Iterator

from mlcluster.spec.checks.ranges import address_range
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.eks import EksTarget
from mlcluster.spec.known import as_far_as_known

_ENDPOINT: Loc = ("target", "endpoint")
_ACCESS: Loc = ("target", "access")
_IPV4 = 4
_EXAMPLES = tuple(ipaddress.IPv4Network(block) for block in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"))


@as_far_as_known
def endpoint_problems(target: EksTarget) -> Iterator[Problem]:
    """An API that nobody reaches, and ranges that EKS does not take."""
    endpoint = target.endpoint
    if not (endpoint.private or endpoint.public):
        yield Problem(_ENDPOINT, "the Kubernetes API is neither private nor public: nobody reaches it", "private: true")
    if endpoint.public_cidrs and not endpoint.public:
        message = "publicCidrs limit the public endpoint, which is off"
        yield Problem((*_ENDPOINT, "publicCidrs"), message, "leave them out, or set public: true", key=True)
    for index, cidr in enumerate(endpoint.public_cidrs):
        yield from _public_cidr((*_ENDPOINT, "publicCidrs", index), cidr, endpoint.public_cidrs[:index])


@as_far_as_known
def principal_problems(target: EksTarget) -> Iterator[Problem]:
    """A principal that is two things, and a key of another region."""
    access = target.access
    rank = {**dict.fromkeys(access.admins, "admins"), **({access.ci: "ci"} if access.ci else {})}
    for index, viewer in enumerate(access.viewers):
        if viewer in rank:
            message = f"{viewer} is under access.{rank[viewer]} too, and a principal has one entry"
            yield Problem((*_ACCESS, "viewers", index), message, "keep it in one of the two")
    if target.secrets_key and target.secrets_key.split(":")[3] != target.region:
        message = f"the key is in {target.secrets_key.split(':')[3]}; EKS takes one of {target.region}"
        yield Problem(("target", "secretsKey"), message, "use a key of the cluster's region, or leave it out")


def _public_cidr(loc: Loc, cidr: str, before: list[str]) -> Iterator[Problem]:
    """One range of publicCidrs.

    EKS takes public IPv4 ranges of an IPv4 cluster and refuses private and reserved ones (EKS user guide, "Cluster API
    server endpoint").
    """
    network = yield from address_range(loc, cidr, "203.0.113.0/24")
    if network is None:
        return
    if network.version != _IPV4:
        yield Problem(
            loc, f"{cidr} is IPv6; the endpoint of an IPv4 cluster has IPv4 addresses only", "use IPv4 ranges"
        )
    elif network.prefixlen and not network.is_global and not _is_documentation(network):
        message = f"{cidr} is not public: EKS refuses it, and connections from the internet never come from there"
        yield Problem(loc, message, "give the addresses that your network has on the internet")
    elif cidr in before:
        yield Problem(loc, f"{cidr} is given twice", "once is enough")


def _is_documentation(network: ipaddress.IPv4Network | ipaddress.IPv6Network) -> bool:
    """Ranges for examples (RFC 5737): not public, but what every example says."""
    return isinstance(network, ipaddress.IPv4Network) and any(network.subnet_of(example) for example in _EXAMPLES)
