"""Rules on RDMA and secondary networks: device plugins, CNI plugins, address ranges."""

import ipaddress
from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Network

from mlcluster.catalog.networks import EFA_RESOURCE
from mlcluster.findings import Finding, finding
from mlcluster.plan.model import Plan
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.components.network import SecondaryNetwork
from mlcluster.spec.eks import EksTarget
from mlcluster.spec.secondary_networks import RDMA_PREFIX, networks, offered, operator_runs, pools_with_network_taint
from mlcluster.spec.suggestions import listed

_NETWORKS = ("components", "multus", "networks")
_OPERATOR, _RDMA, _SRIOV = "network-operator", "rdma-shared-device-plugin", "sriov-network-device-plugin"


def announced_devices(plan: Plan, spec: ClusterSpec) -> Iterator[Finding]:
    """NET006: no component advertises a device that a pool offers. Simulated nodes always have it."""
    if spec.target.kind == "local":
        return
    there = {component.name for component in plan.components}
    for index, pool in enumerate(spec.node_pools):
        for key, names in (("rdma", pool.network.rdma), ("sriov", pool.network.sriov)):
            for name in names:
                plugin = _RDMA if key == "rdma" and name.startswith(RDMA_PREFIX) else _SRIOV
                if {plugin, _OPERATOR} & there or name == EFA_RESOURCE:
                    continue
                field = "rdmaDevicePlugin" if plugin == _RDMA else "sriovDevicePlugin"
                message = f"no component advertises {name}: pods that request it stay Pending"
                hint = f"Set `components: {{{field}: {{}}}}`, with `install: false` if the cluster has one."
                yield finding("NET006", ("nodePools", index, "network", key, name), message, hint)


def network_taint_on_system_pool(plan: Plan, spec: ClusterSpec) -> Iterator[Finding]:
    """NET012: the nodes for system pods wait for networks that system pods create."""
    if not isinstance(spec.target, EksTarget):
        return
    tainted = {pool.name for pool in pools_with_network_taint(spec)}
    if not tainted:
        return
    from mlcluster.plan.eks.addon_settings import system_pool
    from mlcluster.plan.eks.context import EksContext

    first = system_pool(EksContext(spec, spec.target, plan.pools))
    if first.name in tainted:
        message = f"new nodes of {first.name} accept no pods until Multus runs, so CoreDNS and every controller wait"
        hint = "List other pools in the `pools` of the networks, or set `multus: {startupTaint: false}`."
        yield finding("NET012", _NETWORKS, message, hint)


def locked_memory(plan: Plan, spec: ClusterSpec) -> Iterator[Finding]:
    """NET011: a team on a pool with RDMA whose pods may not have the capability that RDMA requires."""
    del plan
    if spec.target.kind == "local":
        return
    fast = {pool.name for pool in spec.node_pools if offered(pool)}
    for index, team in enumerate(spec.teams):
        pools = [name for name in team.guarantee if name in fast]
        if pools and team.pod_security != "privileged":
            message = (
                f"pods of team {team.name} may not have the capability IPC_LOCK (podSecurity: {team.pod_security}); "
                f"RDMA on pool {listed(pools)} requires it unless the nodes allow every container to lock memory"
            )
            hint = "Set `podSecurity: privileged`, or LimitMEMLOCK=infinity for the container runtime of the nodes."
            yield finding("NET011", ("teams", index, "podSecurity"), message, hint)


def programs_of_nodes(plan: Plan, spec: ClusterSpec) -> Iterator[Finding]:
    """NET008: a network requires a CNI plugin that no component installs. Simulated nodes run none."""
    del plan
    if spec.target.kind == "local":
        return
    for index, network in enumerate(networks(spec)):
        for key, program in _missing_programs(spec, network):
            message = (
                f"no component installs the CNI plugin {program} on the nodes; pods on {network.name} cannot start"
            )
            yield finding(
                "NET008", (*_NETWORKS, index, *key), message, f"Add /opt/cni/bin/{program} to the node image."
            )


def _missing_programs(spec: ClusterSpec, network: SecondaryNetwork) -> Iterator[tuple[tuple[str, ...], str]]:
    if network.type == "ipoib" and not operator_runs(spec):
        yield ("type",), network.type
    if network.ipam is not None and network.ipam.type == "dhcp":
        yield ("ipam", "type"), "dhcp"


def ranges_apart(plan: Plan, spec: ClusterSpec) -> Iterator[Finding]:
    """NET009: the address range of a secondary network overlaps the VPC or another network."""
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
                hint = "Use a range that overlaps no other."
                yield finding("NET009", (*_NETWORKS, index, "ipam", "range"), message, hint)
        taken.append((f"network {network.name}", own))


def frames_on_ec2(plan: Plan, spec: ClusterSpec) -> Iterator[Finding]:
    """NET010: macvlan gives a pod a MAC address that EC2 did not assign."""
    del plan
    if spec.target.kind != "eks":
        return
    for index, network in enumerate(networks(spec)):
        if network.type == "macvlan":
            message = f"EC2 drops frames from the MAC addresses that macvlan gives to pods on {network.name}"
            yield finding(
                "NET010", (*_NETWORKS, index, "type"), message, "Set `type: ipvlan`, with addresses of the subnet."
            )
