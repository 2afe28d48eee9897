"""Secondary networks as NetworkAttachmentDefinitions: one in each namespace whose pods may join.

The fields of a configuration are those of the CNI plugin of its type: containernetworking/plugins (macvlan, ipvlan,
host-device, static, dhcp), sriov-cni, ib-sriov-cni, Mellanox/ipoib-cni, whereabouts (doc/extended-configuration.md),
Mellanox/nvidia-k8s-ipam (README).
"""

import json
from collections.abc import Iterator

from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.model import Manifest, PlanObject
from mlcluster.plan.objects import make
from mlcluster.spec.components.network import NetworkIpam, SecondaryNetwork
from mlcluster.spec.secondary_networks import namespaces_of, networks

API = "k8s.cni.cncf.io/v1"
KIND = "NetworkAttachmentDefinition"
RESOURCE_ANNOTATION = "k8s.v1.cni.cncf.io/resourceName"
"""The annotation with a resource, whose device in the pod Multus passes to the CNI plugin."""

CNI_VERSION = "0.3.1"
_MODES = {"macvlan": "bridge", "ipvlan": "l2"}


def attachments(context: ComponentContext, needs: tuple[str, ...]) -> Iterator[PlanObject]:
    """Yield every network in each of its namespaces.

    Args:
        needs: ids of the items that install the CRD.
    """
    managed = {team.name for team in context.spec.teams}
    for index, network in enumerate(networks(context.spec)):
        path = ("components", "multus", "networks", index)
        annotations = {RESOURCE_ANNOTATION: network.resource} if network.resource else {}
        body: Manifest = {"spec": {"config": json.dumps(configuration(network))}}
        for namespace in namespaces_of(context.spec, network):
            entry = make(
                context.cluster,
                API,
                KIND,
                network.name,
                body,
                namespace=namespace,
                annotations=annotations,
                needs=needs,
                spec_path=path,
            )
            yield entry if namespace in managed else _elsewhere(entry, needs)


def configuration(network: SecondaryNetwork) -> Manifest:
    """Return the CNI configuration of a network."""
    config: Manifest = {"cniVersion": CNI_VERSION, "name": network.name, "type": network.type}
    if network.master is not None:
        config["master"] = network.master
    mode = network.mode or _MODES.get(network.type)
    if mode is not None:
        config["mode"] = mode
    if network.mtu is not None and network.type in {"macvlan", "ipvlan"}:
        config["mtu"] = network.mtu
    if network.vlan is not None:
        config["vlan"] = network.vlan
    if network.type == "ib-sriov":
        config["link_state"] = network.link_state or "enable"
    if network.p_key is not None:
        config["pkey"] = network.p_key
    return {**config, "ipam": ipam(network)}


def ipam(network: SecondaryNetwork) -> Manifest:
    """Return the configuration of the IPAM plugin; {} for none."""
    given = network.ipam
    if given is None:
        return {}
    match given.type:
        case "whereabouts":
            return _whereabouts(given)
        case "nv-ipam":
            return {"type": "nv-ipam", "poolName": network.name}
        case "static":
            gateway = {"gateway": given.gateway} if given.gateway else {}
            return {"type": "static", "addresses": [{"address": text, **gateway} for text in given.addresses]}
        case "dhcp":
            return {"type": "dhcp"}


def _whereabouts(given: NetworkIpam) -> Manifest:
    found: Manifest = {"type": "whereabouts", "range": given.range}
    if given.exclude:
        found["exclude"] = list(given.exclude)
    if given.gateway:
        found["gateway"] = given.gateway
    return found


def _elsewhere(entry: PlanObject, needs: tuple[str, ...]) -> PlanObject:
    """Return an object in an unmanaged namespace, without the namespace among its needs."""
    return PlanObject(entry.id, entry.manifest, needs, entry.spec_path)
