"""Configurations of the device plugin and the MIG manager, by which nodes share their GPUs.

Formats: k8s-device-plugin v0.20.0 and mig-parted v0.15.0. Both are written as JSON, which is
YAML too.
"""

import json
from collections.abc import Iterable
from itertools import groupby

from mlcluster.catalog.gpus import MIG_DISABLED, Gpu
from mlcluster.plan.model import Manifest, Pool
from mlcluster.spec.pools import NodePool

GPU = "nvidia.com/gpu"
WHOLE = "whole"
PLUGIN_LABEL = "nvidia.com/device-plugin.config"
MIG_LABEL = "nvidia.com/mig.config"


def plugin_key(pool: Pool, entry: NodePool) -> str:
    """Return the name of a pool's device plugin configuration: whole, time-slicing-4, mps-2."""
    sharing = pool.accelerator.sharing if pool.accelerator is not None else "whole"
    names = {"timeSlicing": "time-slicing", "mps": "mps"}
    return f"{names[sharing]}-{entry.gpu.replicas}" if sharing in names else WHOLE


def plugin_configuration(key: str, mig_strategy: str) -> str:
    """Return a configuration of the device plugin by its name.

    The name stays nvidia.com/gpu, which quotas count. More than one slice of a pod would be no more than one: with
    time slicing the plugin is configured to reject such pods; with MPS it always does.
    """
    document: Manifest = {"version": "v1", "flags": {"migStrategy": mig_strategy}}
    kind, _, replicas = key.rpartition("-")
    if kind:
        shared = {"renameByDefault": False, "resources": [{"name": GPU, "replicas": int(replicas)}]}
        if kind == "mps":
            document["sharing"] = {"mps": shared}
        else:
            document["sharing"] = {"timeSlicing": {**shared, "failRequestsGreaterThanOne": True}}
    return json.dumps(document, indent=2)


def mig_configuration(models: Iterable[Gpu]) -> str:
    """Return every MIG layout of these GPU models, and the one without partitions.

    A name that means something else on another model says for which cards it is what.
    """
    layouts: dict[str, list[Gpu]] = {}
    for model in models:
        for name in model.mig_layouts:
            layouts.setdefault(name, []).append(model)
    configs: Manifest = {MIG_DISABLED: [{"devices": "all", "mig-enabled": False}]}
    for name, having in sorted(layouts.items()):
        configs[name] = _layout(name, having)
    return json.dumps({"version": "v1", "mig-configs": configs}, indent=2)


def _layout(name: str, models: list[Gpu]) -> list[Manifest]:
    def devices(model: Gpu) -> list[tuple[str, int]]:
        return sorted(model.mig_layouts[name].items())

    alike = [(dict(parts), list(group)) for parts, group in groupby(sorted(models, key=devices), key=devices)]
    found: list[Manifest] = []
    for parts, group in alike:
        entry: Manifest = {"devices": "all", "mig-enabled": True, "mig-devices": parts}
        if len(alike) > 1:
            entry = {"device-filter": [card for model in group for card in model.device_ids], **entry}
        found.append(entry)
    return found
