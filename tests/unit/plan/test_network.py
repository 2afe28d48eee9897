"""Destinations of pods of a team, evaluated as by Kubernetes: a packet passes if any rule allows it."""

import ipaddress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlcluster.plan.network import network_policy
from tests.specs import SYSTEM, manifests, planned

pytestmark = pytest.mark.unit

METADATA = ("169.254.169.254", "fd00:ec2::254")
IDENTITY = ("169.254.170.23", "fd00:ec2::23")
WORDS = ["internet", "cluster", "none"]


def reaches(policy: dict[str, Any], address: str, port: int = 443, protocol: str = "TCP") -> bool:
    """Return whether a pod may send to an address outside the cluster."""
    return any(_to(rule, address) and _port(rule, port, protocol) for rule in policy["egress"])


def _to(rule: dict[str, Any], address: str) -> bool:
    if not rule.get("to"):
        return True  # an empty list of peers is everybody
    return any("ipBlock" in peer and _inside(peer["ipBlock"], address) for peer in rule["to"])


def _inside(block: dict[str, Any], address: str) -> bool:
    found = ipaddress.ip_address(address)
    return found in ipaddress.ip_network(block["cidr"]) and not any(
        found in ipaddress.ip_network(closed) for closed in block.get("except", [])
    )


def _port(rule: dict[str, Any], port: int, protocol: str) -> bool:
    return not rule.get("ports") or {"protocol": protocol, "port": port} in rule["ports"]


def policy_of(egress: Any) -> dict[str, Any]:
    return network_policy(egress)


networks = st.one_of(
    st.builds(
        lambda address, prefix: str(ipaddress.ip_network((address, prefix), strict=False)),
        st.integers(0, 2**32 - 1) | st.sampled_from([int(ipaddress.ip_address(METADATA[0]))]),
        st.integers(0, 32),
    ),
    st.builds(
        lambda address, prefix: str(ipaddress.ip_network((ipaddress.IPv6Address(address), prefix), strict=False)),
        st.integers(0, 2**128 - 1) | st.sampled_from([int(ipaddress.ip_address(METADATA[1]))]),
        st.integers(0, 128),
    ),
)


@pytest.mark.parametrize(
    "egress", [*WORDS, [], ["10.0.0.0/8"], ["0.0.0.0/0"], ["::/0"], ["fd00::/8", "169.254.0.0/15"]]
)
@pytest.mark.parametrize("address", METADATA)
def test_node_metadata_is_never_reachable(egress: Any, address: str) -> None:
    for port in (80, 53, 443):
        assert not reaches(policy_of(egress), address, port)


@given(st.lists(networks, max_size=4))
def test_no_list_of_ranges_opens_node_metadata(egress: list[str]) -> None:
    for address in METADATA:
        assert not reaches(policy_of(egress), address, 80)


@pytest.mark.parametrize(
    "egress", ["169.254.169.254/32", "169.254.0.0/16", "169.254.169.0/24", "fd00:ec2::/64", "fe80::/10"]
)
def test_a_range_of_the_nodes_own_addresses_opens_nothing(egress: str) -> None:
    assert network_policy([egress])["egress"][2:] == network_policy([])["egress"][2:]


@pytest.mark.parametrize("egress", ["internet", "cluster", ["10.0.0.0/8"], []])
@pytest.mark.parametrize("address", IDENTITY)
def test_pod_identity_is_reachable_on_its_port(egress: Any, address: str) -> None:
    assert reaches(policy_of(egress), address, 80)
    assert not reaches(policy_of(egress), address, 443)


@pytest.mark.parametrize(
    ("egress", "open_to"),
    [
        ("internet", {"1.1.1.1", "2606:4700::1111", "10.1.2.3", "192.168.0.1"}),
        ("cluster", set()),
        ("none", set()),
        ([], set()),
        (["10.0.0.0/8"], {"10.1.2.3"}),
        (["10.0.0.0/8", "192.168.0.1/32"], {"10.1.2.3", "192.168.0.1"}),
        (["2606::/16"], {"2606:4700::1111"}),
    ],
)
def test_destinations_of_each_egress_setting(egress: Any, open_to: set[str]) -> None:
    asked = ("1.1.1.1", "2606:4700::1111", "10.1.2.3", "192.168.0.1")
    assert {address for address in asked if reaches(policy_of(egress), address)} == open_to


def test_the_cluster_is_every_namespace() -> None:
    assert {"to": [{"namespaceSelector": {}}]} in network_policy("cluster")["egress"]
    assert {"to": [{"namespaceSelector": {}}]} not in network_policy("internet")["egress"]


def test_no_egress_leaves_the_namespace_and_dns() -> None:
    assert len(network_policy("none")["egress"]) == 2


@pytest.mark.parametrize("egress", [*WORDS, ["10.0.0.0/8"]])
def test_inside_the_namespace_and_dns_are_always_open(egress: Any) -> None:
    policy = policy_of(egress)
    assert policy["podSelector"] == {}
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert policy["ingress"] == [{"from": [{"podSelector": {}}]}]
    inside, dns = policy["egress"][:2]
    assert inside == {"to": [{"podSelector": {}}]}
    assert [entry["protocol"] for entry in dns["ports"]] == ["UDP", "TCP"]
    assert dns["to"][0]["podSelector"] == {"matchLabels": {"k8s-app": "kube-dns"}}
    assert reaches(policy, "169.254.20.10", 53, "UDP")
    assert not reaches(policy, "169.254.20.10", 443)


def test_the_policy_of_a_team_follows_its_spec() -> None:
    teams = [{"name": "research"}, {"name": "students", "network": {"egress": ["10.0.0.0/8"]}}]
    policies = manifests(planned(SYSTEM, teams=teams), "NetworkPolicy")
    assert policies["research/team"]["spec"] == network_policy("internet")
    assert policies["students/team"]["spec"] == network_policy(["10.0.0.0/8"])
