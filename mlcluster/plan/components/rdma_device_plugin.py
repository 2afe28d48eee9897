"""The RDMA shared device plugin: announces rdma/... (Mellanox/k8s-rdma-shared-dev-plugin, README and deployment/).

Its configuration sets the number of pods that may share the devices of a whole node, so each pool has a separate
configuration.
"""

import json
from collections.abc import Mapping
from typing import Any

from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.contribution import Contribution
from mlcluster.plan.components.daemon_sets import (
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
from mlcluster.spec.components.network import RdmaDevicePlugin, RdmaSelectors
from mlcluster.spec.secondary_networks import RDMA_PREFIX, operator_runs, rdma_of

NAME = "rdma-shared-device-plugin"
ACCOUNT = "rdma-shared-device-plugin"
CONFIG_MAP = "rdma-devices"
REQUESTS = {"cpu": "10m", "memory": "32Mi"}
"""Upstream has no requests; the plugin holds a list of devices in memory."""

UPDATE_SECONDS = 60


def contribute(context: ComponentContext) -> Contribution:
    """Return the plugin, unless an existing installation or the Network Operator runs it."""
    settings = context.settings(NAME)
    pools = [pool for pool in context.pools if rdma_of(context.spec_pool(pool))]
    if operator_runs(context.spec) or (settings is not None and not settings.install) or not pools:
        return Contribution()
    objects: list[PlanObject] = service_account(context, NAME, ACCOUNT, [])
    made = [_on(context, pool, objects) for pool in pools]
    return Contribution(
        objects=(*objects, *(one.object for one in made)), pods=tuple(pod for one in made for pod in one.pods)
    )


def configuration(context: ComponentContext, resources: Mapping[str, int]) -> str:
    """Return the plugin's configuration of one node as JSON.

    Args:
        resources: the number of pods that may use each resource, e.g. {"rdma/hca": 8}.
    """
    settings = context.spec.components.rdma_device_plugin
    found = [_resource(settings, name, count) for name, count in resources.items()]
    return json.dumps({"periodicUpdateInterval": UPDATE_SECONDS, "configList": found}, indent=2)


def _resource(settings: RdmaDevicePlugin | None, name: str, count: int) -> Manifest:
    given = settings.resources.get(name) if settings is not None else None
    return {
        "resourceName": name.removeprefix(RDMA_PREFIX),
        "resourcePrefix": RDMA_PREFIX.removesuffix("/"),
        "rdmaHcaMax": count,
        "selectors": _selectors(given or RdmaSelectors()),
    }


def _selectors(given: RdmaSelectors) -> Manifest:
    named: dict[str, list[Any]] = {
        "vendors": given.vendors,
        "deviceIDs": given.device_ids,
        "drivers": given.drivers,
        "ifNames": given.if_names,
        "linkTypes": given.link_types,
    }
    return {key: list(values) for key, values in named.items() if values}


def _on(context: ComponentContext, pool: Pool, objects: list[PlanObject]) -> Made:
    """Return the daemon set of one pool, and add its configuration to `objects`."""
    text = configuration(context, rdma_of(context.spec_pool(pool)))
    config = config_map(context, NAME, f"{CONFIG_MAP}-{pool.name}", {"config.json": text})
    objects.append(config)
    pod, needs = _pod(context, pool), (objects[0].id,)
    return daemon_set(context, NAME, f"rdma-shared-dp-{pool.name}", [pool], pod, needs=needs, reads=[config])


def _pod(context: ComponentContext, pool: Pool) -> Manifest:
    container: Manifest = {
        "name": "rdma-shared-dp",
        "image": image(context, NAME),
        "securityContext": PRIVILEGED,
        "resources": {"requests": REQUESTS, "limits": {"memory": "128Mi"}},
        "volumeMounts": [
            mount("device-plugin", "/var/lib/kubelet/device-plugins"),
            mount("plugins-registry", "/var/lib/kubelet/plugins_registry"),
            mount("config", "/k8s-rdma-shared-dev-plugin"),
            mount("devs", "/dev"),
        ],
    }
    volumes = [
        from_host("device-plugin", "/var/lib/kubelet/device-plugins"),
        from_host("plugins-registry", "/var/lib/kubelet/plugins_registry"),
        from_config("config", f"{CONFIG_MAP}-{pool.name}", "config.json"),
        from_host("devs", "/dev"),
    ]
    # On the host network the plugin sees the host's interfaces, which the selectors ifNames and linkTypes match.
    return {"hostNetwork": True, "serviceAccountName": ACCOUNT, "containers": [container], "volumes": volumes}
