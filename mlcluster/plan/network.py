"""NetworkPolicies of a team's namespace: its own, and one for each controller that connects to pods of teams."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from mlcluster.plan.model import Manifest
from mlcluster.spec.document import Loc

NODES_OWN = (
    "169.254.0.0/16",  # link-local: instance metadata of AWS, Azure, Google, OCI
    "168.63.129.16/32",  # Azure's wire server
    "100.100.100.200/32",  # Alibaba's instance metadata
    "fe80::/10",
    "fd00:ec2::/32",  # AWS over IPv6
    "fd20:ce::254/128",  # Google over IPv6
)
"""Address ranges of the node, never of a team's pods; an egress range inside one of them has no effect."""

POD_IDENTITY = ("169.254.170.23/32", "fd00:ec2::23/128")
"""Where the EKS Pod Identity agent answers on every node (port 80); pods without it have no cloud rights."""

Egress = Literal["internet", "cluster", "none"] | list[str]


@dataclass(frozen=True, slots=True)
class Caller:
    """Pods of a component that connect to pods of teams.

    Attributes:
        name: of the NetworkPolicy that lets them in.
        namespace: where the callers run.
        pods: labels of the callers.
        to: label selector of the pods that they connect to.
        ports: TCP ports of those pods, as numbers or as names of container ports.
        spec_path: the place in the spec that brought the component.
    """

    name: str
    namespace: str
    pods: Mapping[str, str]
    to: Manifest
    ports: tuple[int | str, ...]
    spec_path: Loc


def network_policy(egress: Egress) -> Manifest:
    """Return the policy: traffic inside the namespace and to DNS is free, `egress` limits other traffic."""
    everything_here: Manifest = {"podSelector": {}}
    return {
        "podSelector": {},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"from": [everything_here]}],
        "egress": [{"to": [everything_here]}, _dns(), *_outside(egress)],
    }


def caller_policy(caller: Caller) -> Manifest:
    """Return the spec of the NetworkPolicy that lets a component's pods in; NetworkPolicies add up."""
    source = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": caller.namespace}},
        "podSelector": {"matchLabels": dict(caller.pods)},
    }
    ports = [{"protocol": "TCP", "port": port} for port in caller.ports]
    return {"podSelector": caller.to, "policyTypes": ["Ingress"], "ingress": [{"from": [source], "ports": ports}]}


def _dns() -> Manifest:
    kube_dns = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}},
        "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
    }
    node_local = {"ipBlock": {"cidr": "169.254.20.10/32"}}
    ports = [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]
    return {"to": [kube_dns, node_local], "ports": ports}


def _outside(egress: Egress) -> list[Manifest]:
    if egress == "none":
        return []
    identity = {
        "to": [{"ipBlock": {"cidr": cidr}} for cidr in POD_IDENTITY],
        "ports": [{"protocol": "TCP", "port": 80}],
    }
    if egress == "cluster":
        return [{"to": [{"namespaceSelector": {}}]}, identity]
    cidrs = ["0.0.0.0/0", "::/0"] if egress == "internet" else list(egress)
    blocks = [_block(cidr) for cidr in cidrs if not any(_within(cidr, closed) for closed in NODES_OWN)]
    return [*([{"to": blocks}] if blocks else []), identity]  # an empty list of peers would be everybody


def _block(cidr: str) -> Manifest:
    """Return the range without the node's own addresses: instance metadata gives away the node's rights."""
    inside = [closed for closed in NODES_OWN if _within(closed, cidr)]
    network = ipaddress.ip_network(cidr, strict=False)
    return {"ipBlock": {"cidr": str(network), **({"except": inside} if inside else {})}}


@cache
def _within(narrow: str, wide: str) -> bool:
    inner, outer = ipaddress.ip_network(narrow, strict=False), ipaddress.ip_network(wide, strict=False)
    return inner.version == outer.version and (
        int(outer.network_address) <= int(inner.network_address)
        and int(inner.broadcast_address) <= int(outer.broadcast_address)
    )
