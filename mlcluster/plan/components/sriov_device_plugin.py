"""The SR-IOV network device plugin and its CNI plugins, for virtual functions of the network cards.

Facts: k8snetworkplumbingwg/sriov-network-device-plugin, deployments/ and docs/; sriov-cni and ib-sriov-cni, images/.
The virtual functions must exist when the plugin starts, those of InfiniBand with a GUID: the provisioning of the nodes
creates them.
"""

import json
from typing import Any

from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.contribution import Contribution
from mlcluster.plan.components.daemon_sets import (
    CNI_BINARIES,
    PRIVILEGED,
    Made,
    config_map,
    daemon_set,
    from_config,
    from_host,
    image,
    mount,
    service_account,
)
from mlcluster.plan.model import Manifest, PlanObject, Pool
from mlcluster.spec.components.network import SriovDevicePlugin, SriovSelectors
from mlcluster.spec.secondary_networks import networks, operator_runs, pools_of

NAME = "sriov-network-device-plugin"
ACCOUNT = "sriov-device-plugin"
CONFIG_MAP = "sriovdp-config"
CNI = {"sriov": "sriov-cni", "ib-sriov": "ib-sriov-cni"}
"""Type of a network -> the image, and the daemon set, with its CNI plugin."""

REQUESTS = {"cpu": "50m", "memory": "40Mi"}
CNI_REQUESTS = {"cpu": "10m", "memory": "20Mi"}
"""The container copies one file and sleeps; upstream requests 100m and 50Mi."""

_DEVICE_INFO = "/var/run/k8s.cni.cncf.io/devinfo/dp"


def contribute(context: ComponentContext) -> Contribution:
    """Return the plugin for pools with virtual functions, unless the Network Operator or another plugin serves them."""
    settings = context.settings(NAME)
    if settings is not None and not settings.install:
        return Contribution()
    made, objects = [], list[PlanObject]()
    pools = [pool for pool in context.pools if context.spec_pool(pool).network.sriov]
    if pools and not operator_runs(context.spec):
        objects = service_account(context, NAME, ACCOUNT, [])
        config = config_map(context, NAME, CONFIG_MAP, {"config.json": configuration(context)})
        needs = (objects[0].id,)
        made.append(daemon_set(context, NAME, NAME, pools, _pod(context), needs=needs, reads=[config]))
        objects.append(config)
    made += _cni(context)
    return Contribution(
        objects=(*objects, *(one.object for one in made)), pods=tuple(pod for one in made for pod in one.pods)
    )


def configuration(context: ComponentContext) -> str:
    """Return the configuration of the plugin for all nodes as JSON; a node offers only resources that it has."""
    settings = context.spec.components.sriov_device_plugin
    resources = dict.fromkeys(name for pool in context.spec.node_pools for name in pool.network.sriov)
    on_infiniband = {network.resource for network in networks(context.spec) if network.type == "ib-sriov"}
    entries = [_resource(settings, name, infiniband=name in on_infiniband) for name in resources]
    return json.dumps({"resourceList": entries}, indent=2)


def _resource(settings: SriovDevicePlugin | None, name: str, *, infiniband: bool) -> Manifest:
    """Return the entry of a resource; that of an InfiniBand network offers no virtual function on Ethernet."""
    given = (settings.resources.get(name) if settings is not None else None) or SriovSelectors()
    prefix, _, short = name.rpartition("/")
    lists: dict[str, list[Any]] = {
        "vendors": given.vendors,
        "devices": given.devices,
        "drivers": given.drivers,
        "pfNames": given.pf_names,
        "linkTypes": given.link_types or (["infiniband"] if infiniband else []),
    }
    selectors: Manifest = {key: list(values) for key, values in lists.items() if values}
    return {
        "resourcePrefix": prefix,
        "resourceName": short,
        "deviceType": "netDevice",
        "selectors": {**selectors, "isRdma": given.rdma},
    }


def _pod(context: ComponentContext) -> Manifest:
    container: Manifest = {
        "name": "kube-sriovdp",
        "image": image(context, NAME, NAME),
        "args": ["--log-dir=sriovdp", "--log-level=10"],
        "securityContext": PRIVILEGED,
        "resources": {"requests": REQUESTS, "limits": {"memory": "200Mi"}},
        "volumeMounts": [
            mount("device-plugin", "/var/lib/kubelet/device-plugins"),
            mount("plugins-registry", "/var/lib/kubelet/plugins_registry"),
            mount("log", "/var/log"),
            mount("config", "/etc/pcidp"),
            mount("device-info", _DEVICE_INFO),
        ],
    }
    volumes = [
        from_host("device-plugin", "/var/lib/kubelet/device-plugins"),
        from_host("plugins-registry", "/var/lib/kubelet/plugins_registry"),
        from_host("log", "/var/log"),
        from_host("device-info", _DEVICE_INFO, "DirectoryOrCreate"),
        from_config("config", CONFIG_MAP, "config.json"),
    ]
    return {"hostNetwork": True, "serviceAccountName": ACCOUNT, "containers": [container], "volumes": volumes}


def _cni(context: ComponentContext) -> list[Made]:
    """Return the CNI plugins, which move a virtual function into a pod, each on the nodes of networks of its type."""
    made = []
    for kind, name in CNI.items():
        named = {
            pool.name
            for network in networks(context.spec)
            if network.type == kind
            for pool in pools_of(context.spec, network)
        }
        pools: list[Pool] = [pool for pool in context.pools if pool.name in named]
        if pools:
            made.append(daemon_set(context, NAME, name, pools, _cni_pod(context, name)))
    return made


def _cni_pod(context: ComponentContext, name: str) -> Manifest:
    container: Manifest = {
        "name": name,
        "image": image(context, NAME, name, own=False),
        "securityContext": PRIVILEGED,
        "resources": {"requests": CNI_REQUESTS, "limits": {"memory": "50Mi"}},
        "volumeMounts": [mount("cnibin", "/host/opt/cni/bin")],
    }
    return {"hostNetwork": True, "containers": [container], "volumes": [from_host("cnibin", CNI_BINARIES)]}
