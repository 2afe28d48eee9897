"""Values of the GPU operator's chart v26.7.0, which follow from the owner of each duty on each pool."""

from typing import Any, cast

from mlcluster.catalog.gpus import MIG_DISABLED
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.gpu_daemons import service_monitor, sharing_environment
from mlcluster.plan.components.gpu_owners import OPERATOR, served
from mlcluster.plan.components.gpu_sharing import WHOLE, PluginSharing, plugin_sharing
from mlcluster.plan.components.system_pool import controller_tolerations
from mlcluster.plan.model import Manifest
from mlcluster.plan.taints import daemon_set_tolerations, toleration_manifests
from mlcluster.spec.components.gpu import GpuOperator

PLUGIN_CONFIGS = "mlcluster-device-plugin"
MIG_CONFIGS = "mlcluster-mig"
COUNTERS = "mlcluster-dcgm-counters"
"""Names of ConfigMaps in the operator's namespace."""

_QUEUED = "kueue.x-k8s.io/cluster-queue-name"
"""The label of every pod that Kueue has admitted (Kueue 0.17 and later)."""


def settings(context: ComponentContext) -> GpuOperator:
    """Return the spec's entry of the operator, or its defaults."""
    return cast("GpuOperator | None", context.settings(OPERATOR)) or GpuOperator()


def operator_values(context: ComponentContext) -> Manifest:
    """Return every value that mlcluster sets."""
    tolerations = toleration_manifests(daemon_set_tolerations(context.spec, context.gpu_pools))
    return {
        "operator": {"tolerations": toleration_manifests(controller_tolerations(context))},
        "daemonsets": {"tolerations": tolerations},
        **_feature_discovery(context, tolerations),
        "cdi": {"enabled": True},
        "driver": _driver(context),
        "toolkit": _toolkit(context),
        "devicePlugin": _device_plugin(context),
        "gfd": {"enabled": _needed(context, "gpuFeatureDiscovery")},
        "mig": {"strategy": settings(context).mig_strategy},
        "migManager": _mig_manager(context),
        "dcgmExporter": _exporter(context),
        **{key: {"enabled": True} for key in ("gds", "gdrcopy") if getattr(settings(context), key)},
    }


def brings_feature_discovery(context: ComponentContext) -> bool:
    """Return whether this chart installs NFD; if the plan has the Network Operator, its chart installs NFD."""
    return _needed(context, "nodeFeatureDiscovery")


def plugin_sharings(context: ComponentContext) -> list[PluginSharing]:
    """Return the device plugin's kinds of sharing, whole GPUs first; [] if no pool that it serves shares GPUs."""
    found = {plugin_sharing(pool, context.spec_pool(pool)) for pool in served(context, OPERATOR, "devicePlugin")}
    shared = sorted((one for one in found if one.strategy), key=lambda one: one.key)
    return [PluginSharing(), *shared] if shared else []


def _needed(context: ComponentContext, duty: Any) -> bool:
    return bool(served(context, OPERATOR, duty))


def _feature_discovery(context: ComponentContext, tolerations: list[Manifest]) -> Manifest:
    """Return the values of NFD, by whose label (feature.node.kubernetes.io/pci-10de.present) the operator detects GPUs.

    Its master and garbage collector are controllers; NFD's own chart (0.19.0) has the paths of their tolerations.
    """
    if not brings_feature_discovery(context):
        return {"nfd": {"enabled": False}}
    controllers = {"tolerations": toleration_manifests(controller_tolerations(context))}
    return {
        "nfd": {"enabled": True},
        "node-feature-discovery": {
            "worker": {"tolerations": tolerations},
            "master": controllers,
            "gc": {"tolerations": toleration_manifests(controller_tolerations(context))},
        },
    }


def _driver(context: ComponentContext) -> Manifest:
    """Return the values of the driver; its upgrade on a node waits for the end of the node's pods from queues."""
    pools = served(context, OPERATOR, "driver")
    if not pools:
        return {"enabled": False}
    rdma = any(context.spec_pool(pool).network.rdma for pool in pools)
    network = context.spec.components.network_operator
    host_has_ofed = network is None or not network.ofed_driver
    return {
        "enabled": True,
        **({"rdma": {"enabled": True, "useHostMofed": host_has_ofed}} if rdma else {}),
        "upgradePolicy": {
            "autoUpgrade": True,
            "maxParallelUpgrades": 1,
            "waitForCompletion": {"podSelector": _QUEUED, "timeoutSeconds": 0},
        },
    }


def _toolkit(context: ComponentContext) -> Manifest:
    """Return the values of the toolkit, which gives devices only to containers that requested them.

    By default it honors NVIDIA_VISIBLE_DEVICES of every container that runs with its runtime class (toolkit v1.20.0,
    cmd/nvidia-ctk-installer/toolkit/toolkit.go). The operator's own pods are privileged, which the options exempt; pods
    that requested a GPU get the GPU by CDI.
    """
    if not _needed(context, "toolkit"):
        return {"enabled": False}
    closed = (
        "ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED",
        "ACCEPT_NVIDIA_VISIBLE_DEVICES_AS_VOLUME_MOUNTS",
    )
    return {"enabled": True, "env": [{"name": name, "value": "false"} for name in closed]}


def _device_plugin(context: ComponentContext) -> Manifest:
    """Return the values of the device plugin.

    MOFED is off: with it the plugin may mount InfiniBand devices of EFA or of the RDMA plugin into GPU pods.
    """
    if not _needed(context, "devicePlugin"):
        return {"enabled": False}
    values: Manifest = {"enabled": True, "env": [{"name": "MOFED_ENABLED", "value": "false"}]}
    if plugin_sharings(context):
        values["config"] = {"create": False, "name": PLUGIN_CONFIGS, "default": WHOLE}
    return values


def _mig_manager(context: ComponentContext) -> Manifest:
    """Return the values of the MIG manager, which runs on all GPUs that support MIG, because it also undoes partitions.

    On an existing cluster the default layout is empty, so that nodes without a MIG label keep their partitions; with
    the chart's default, the MIG manager would undo them.
    """
    if not _needed(context, "migManager"):
        return {"enabled": False}
    default = "" if context.target == "existing" else MIG_DISABLED
    return {"enabled": True, "config": {"create": False, "name": MIG_CONFIGS, "default": default}}


def _exporter(context: ComponentContext) -> Manifest:
    if not _needed(context, "dcgmExporter"):
        return {"enabled": False}
    env = sharing_environment(served(context, OPERATOR, "dcgmExporter"))
    return {
        "enabled": True,
        "config": {"name": COUNTERS},
        **({"env": env} if env else {}),
        "serviceMonitor": service_monitor(context),
    }
