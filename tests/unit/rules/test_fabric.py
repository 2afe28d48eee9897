"""Findings on fast and secondary networks."""

from typing import Any

import pytest

from mlcluster.plan import build
from mlcluster.rules import findings
from mlcluster.spec.cluster import ClusterSpec
from tests.specs import EXISTING, LOCAL, Data, checked, cluster

pytestmark = pytest.mark.unit

EKS: Data = {"kind": "eks", "region": "us-west-2", "endpoint": {"public": False}}
FAST: Data = {
    "name": "fast",
    "nodeShape": {"cpu": "60", "memory": "500Gi"},
    "maxSize": 4,
    "network": {"rdma": {"rdma/hca": 8}, "sriov": {"nvidia.com/vf": 8}},
}
CLOUD: Data = {"name": "system", "instanceType": "m7i.2xlarge", "minSize": 2, "maxSize": 4}
RAIL: Data = {"name": "rail0", "type": "macvlan", "master": "eth1", "ipam": {"range": "10.60.0.0/16"}}


def spec_of(pool: Data = FAST, target: Data = EXISTING, **components: Any) -> ClusterSpec:
    return checked(cluster(pool, target=target, components=components))


def places(identifier: str, spec: ClusterSpec) -> list[str]:
    found = [finding for finding in findings(build(spec), spec) if finding.id == identifier]
    return [".".join(str(part) for part in finding.place[1:]) for finding in found]


def multus(*networks: Data) -> Data:
    return {"networks": list(networks), "startupTaint": False}


def test_devices_that_nothing_announces() -> None:
    both = ["0.network.rdma.rdma/hca", "0.network.sriov.nvidia.com/vf"]
    assert places("NET006", spec_of()) == both
    assert places("NET006", spec_of(rdmaDevicePlugin={})) == both[1:]
    assert places("NET006", spec_of(rdmaDevicePlugin={"install": False}, sriovDevicePlugin={})) == []
    assert places("NET006", spec_of(networkOperator={})) == []
    assert places("NET006", spec_of(target=LOCAL)) == []


def test_multus_without_networks() -> None:
    assert places("NET007", spec_of(multus={})) == ["multus"]
    assert places("NET007", spec_of(multus=multus(RAIL))) == []


def test_missing_network_programs_are_found() -> None:
    device = {"name": "vf", "type": "ib-sriov", "resource": "nvidia.com/vf"}
    ipoib = {"name": "ib", "type": "ipoib", "master": "ib0"}
    asked = {**RAIL, "ipam": {"type": "dhcp"}}
    found = places("NET008", spec_of(multus=multus(RAIL, device, ipoib, asked)))
    assert found == ["multus.networks.2.type", "multus.networks.3.ipam.type"]
    assert places("NET008", spec_of(networkOperator={}, multus=multus(ipoib))) == []
    assert places("NET008", spec_of(target=LOCAL, multus=multus(ipoib))) == []


def test_overlapping_network_ranges_are_found() -> None:
    other = {**RAIL, "name": "rail1", "ipam": {"range": "10.60.128.0/20"}}
    apart = {**RAIL, "name": "rail2", "ipam": {"range": "10.61.0.0/16"}}
    assert places("NET009", spec_of(multus=multus(RAIL, other, apart))) == ["multus.networks.1.ipam.range"]
    inside = {**RAIL, "type": "ipvlan", "ipam": {"range": "10.0.8.0/24"}}
    assert places("NET009", spec_of(CLOUD, EKS, multus=multus(inside))) == ["multus.networks.0.ipam.range"]
    six = {**RAIL, "type": "ipvlan", "ipam": {"range": "fd00:60::/64"}}
    assert places("NET009", spec_of(CLOUD, EKS, multus=multus(six))) == []


@pytest.mark.parametrize(("level", "told"), [("baseline", ["0.podSecurity"]), ("privileged", [])])
def test_rdma_needs_locked_memory(level: str, told: list[str]) -> None:
    team = {"name": "research", "guarantee": {"fast": {"nodes": 1}}, "podSecurity": level}
    assert places("NET011", checked(cluster(FAST, target=EXISTING, teams=[team]))) == told


def test_system_nodes_wait_for_no_network() -> None:
    fast: Data = {"name": "fast", "instanceType": "c7i.4xlarge", "maxSize": 4}

    def told(**network: Any) -> list[str]:
        rail = {**RAIL, "type": "ipvlan", **network}
        spec = checked(cluster(CLOUD, fast, target=EKS, components={"multus": {"networks": [rail]}}))
        return places("NET012", spec)

    assert told() == ["multus.networks"]
    assert told(pools=["system"]) == ["multus.networks"]
    assert told(pools=["fast"]) == []
    assert places("NET012", spec_of(CLOUD, EKS, multus=multus({**RAIL, "type": "ipvlan"}))) == []
    assert places("NET012", spec_of(multus={"networks": [RAIL]})) == []


def test_macvlan_on_ec2() -> None:
    assert places("NET010", spec_of(CLOUD, EKS, multus=multus(RAIL))) == ["multus.networks.0.type"]
    assert places("NET010", spec_of(CLOUD, EKS, multus=multus({**RAIL, "type": "ipvlan"}))) == []
    assert places("NET010", spec_of(multus=multus(RAIL))) == []
