"""Rules on fast and secondary networks: devices are announced, pods start, address ranges do not overlap."""

import ipaddress
from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Network

from mlcluster.findings import Finding, finding
from mlcluster.plan.model import Plan
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.components.network import SecondaryNetwork
from mlcluster.spec.eks import EksTarget
from mlcluster.spec.secondary import RDMA_PREFIX, gated_pools, networks, offered, operator_runs
from mlcluster.spec.suggestions import listed

_NETWORKS = ("components", "multus", "networks")
_OPERATOR, _RDMA, _SRIOV = "network-operator", "rdma-shared-device-plugin", "sriov-network-device-plugin"


def announced_devices(plan: Plan, spec: ClusterSpec) -> Iterator[Finding]:
    """NET006: a pool offers what no component announces. On `local` the simulated nodes have it anyway."""
    if spec.target.kind == "local":
        return
    there = {component.name for component in plan.components}
    for index, pool in enumerate(spec.node_pools):
        for key, names in (("rdma", pool.network.rdma), ("sriov", pool.network.sriov)):
            for name in names:
                plugin = _RDMA if key == "rdma" and name.startswith(RDMA_PREFIX) else _SRIOV
                if {plugin, _OPERATOR} & there or name == "vpc.amazonaws.com/efa":
                    continue
                field = "rdmaDevicePlugin" if plugin == _RDMA else "sriovDevicePlugin"
                message = f"no component announces {name}: pods that ask for it wait for ever"
                hint = f"components: {{{field}: {{}}}}, or {{{field}: {{install: false}}}} where it is there already"
                yield finding("NET006", ("nodePools", index, "network", key, name), message, hint)


def gated_system_pool(plan: Plan, spec: ClusterSpec) -> Iterator[Finding]:
    """NET012: the nodes of an EKS cluster's own pods wait for networks that these pods bring."""
    if not isinstance(spec.target, EksTarget):
        return
    gated = {pool.name for pool in gated_pools(spec)}
    if not gated:
        return
    from mlcluster.plan.eks.addon_settings import system_pool
    from mlcluster.plan.eks.context import EksContext

    first = system_pool(EksContext(spec, spec.target, plan.pools))
    if first.name in gated:
        message = (
            f"new nodes of {first.name} take no pods before Multus is there, and CoreDNS and every controller wait"
        )
        hint = "give the networks pools: [...] without it, or multus: {startupTaint: false}"
        yield finding("NET012", _NETWORKS, message, hint)


def locked_memory(plan: Plan, spec: ClusterSpec) -> Iterator[Finding]:
    """NET011: a team on a pool with RDMA whose pods may not have the capability that RDMA asks for."""
    del plan
    if spec.target.kind == "local":
        return
    fast = {pool.name for pool in spec.node_pools if offered(pool)}
    for index, team in enumerate(spec.teams):
        pools = [name for name in team.guarantee if name in fast]
        if pools and team.pod_security != "privileged":
            message = (
                f"pods of {team.name} may not have the capability IPC_LOCK (podSecurity: {team.pod_security}), which "
                f"RDMA on pool {listed(pools)} asks for unless the nodes let every container lock memory"
            )
            hint = "podSecurity: privileged, or LimitMEMLOCK=infinity for the container runtime of the nodes"
            yield finding("NET011", ("teams", index, "podSecurity"), message, hint)


def programs_of_nodes(plan: Plan, spec: ClusterSpec) -> Iterator[Finding]:
    """NET008: a network needs a program on the nodes that no component brings. Simulated nodes run none."""
    del plan
    if spec.target.kind == "local":
        return
    for index, network in enumerate(networks(spec)):
        for key, program in _brought_by_nobody(spec, network):
            message = (
                f"no component puts the CNI plugin {program} on the nodes; without it no pod starts on {network.name}"
            )
            yield finding("NET008", (*_NETWORKS, index, *key), message, f"have /opt/cni/bin/{program} in their image")


def _brought_by_nobody(spec: ClusterSpec, network: SecondaryNetwork) -> Iterator[tuple[tuple[str, ...], str]]:
    if network.type == "ipoib" and not operator_runs(spec):
        yield ("type",), network.type
    if network.ipam is not None and network.ipam.type == "dhcp":
        yield ("ipam", "type"), "dhcp"


def ranges_apart(plan: Plan, spec: ClusterSpec) -> Iterator[Finding]:
    """NET009: the addresses of a secondary network are those of the VPC or of another network."""
    del plan
    taken: list[tuple[str, IPv4Network | IPv6Network]] = []
    if isinstance(spec.target, EksTarget) and spec.target.network.vpc_id is None:
        taken.append(("the VPC", ipaddress.ip_network(spec.target.network.cidr)))
    for index, network in enumerate(networks(spec)):
        if network.ipam is None or network.ipam.range is None:
            continue
        own = ipaddress.ip_network(network.ipam.range)
        for whose, other in taken:
            if own.version == other.version and own.overlaps(other):
                message = f"{own} of network {network.name} overlaps {other} of {whose}"
                hint = "give it a range of its own"
                yield finding("NET009", (*_NETWORKS, index, "ipam", "range"), message, hint)
        taken.append((f"network {network.name}", own))


def frames_on_ec2(plan: Plan, spec: ClusterSpec) -> Iterator[Finding]:
    """NET010: macvlan gives a pod a MAC address that EC2 does not know."""
    del plan
    if spec.target.kind != "eks":
        return
    for index, network in enumerate(networks(spec)):
        if network.type == "macvlan":
            message = f"EC2 drops frames of the MAC addresses that macvlan gives to pods on {network.name}"
            yield finding("NET010", (*_NETWORKS, index, "type"), message, "type: ipvlan, with addresses of the subnet")
