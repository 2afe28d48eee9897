"""Checks of the access to the Kubernetes API on the `eks` target, and of the key that encrypts Secrets."""

import ipaddress
from collections.abc import Iterator

from mlcluster.spec.checks.ip_ranges import address_range
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.eks import EksTarget
from mlcluster.spec.partial_checks import stop_at_unknown_value

_ENDPOINT: Loc = ("target", "endpoint")
_ACCESS: Loc = ("target", "access")
_IPV4 = 4
_EXAMPLES = tuple(ipaddress.IPv4Network(block) for block in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"))


@stop_at_unknown_value
def endpoint_problems(target: EksTarget) -> Iterator[Problem]:
    """Yield problems for an endpoint without access, and for ranges that EKS rejects."""
    endpoint = target.endpoint
    if not (endpoint.private or endpoint.public):
        message = "the Kubernetes API is not accessible, because both private and public are false"
        yield Problem(_ENDPOINT, message, "Set `private: true`")
    if endpoint.public_cidrs and not endpoint.public:
        message = "publicCidrs has no effect, because the public endpoint is disabled"
        yield Problem((*_ENDPOINT, "publicCidrs"), message, "Remove it, or set `public: true`", key=True)
    for index, cidr in enumerate(endpoint.public_cidrs):
        yield from _public_cidr((*_ENDPOINT, "publicCidrs", index), cidr, endpoint.public_cidrs[:index])


@stop_at_unknown_value
def principal_problems(target: EksTarget) -> Iterator[Problem]:
    """Yield problems for principals with two roles, and for a key in another region."""
    access = target.access
    rank = {**dict.fromkeys(access.admins, "admins"), **({access.ci: "ci"} if access.ci else {})}
    for index, viewer in enumerate(access.viewers):
        if viewer in rank:
            message = f"{viewer} is also in access.{rank[viewer]}, and EKS allows one access entry per principal"
            yield Problem((*_ACCESS, "viewers", index), message, "Remove it from one of the two")
    if target.secrets_key and target.secrets_key.split(":")[3] != target.region:
        message = (
            f"expected a key in {target.region}, the region of the cluster, got {target.secrets_key.split(':')[3]}"
        )
        yield Problem(("target", "secretsKey"), message, "Use a key in that region, or remove `secretsKey`")


def _public_cidr(loc: Loc, cidr: str, before: list[str]) -> Iterator[Problem]:
    """Yield problems for a range of publicCidrs.

    With an IPv4 cluster, EKS allows public IPv4 ranges and rejects private and reserved ranges (EKS user guide,
    "Cluster API server endpoint").
    """
    network = yield from address_range(loc, cidr, "203.0.113.0/24")
    if network is None:
        return
    if network.version != _IPV4:
        yield Problem(
            loc, f"expected an IPv4 range, got {cidr}; the endpoint has only IPv4 addresses", "Use IPv4 ranges"
        )
    elif network.prefixlen and not network.is_global and not _is_documentation(network):
        message = f"expected a public range, got {cidr}; EKS rejects private and reserved ranges"
        yield Problem(loc, message, "Use the public addresses of your network")
    elif cidr in before:
        yield Problem(loc, f"duplicate range {cidr}", "Remove one of the two")


def _is_documentation(network: ipaddress.IPv4Network | ipaddress.IPv6Network) -> bool:
    """Return whether the range is for documentation (RFC 5737): not public, but allowed for examples."""
    return isinstance(network, ipaddress.IPv4Network) and any(network.subnet_of(example) for example in _EXAMPLES)
