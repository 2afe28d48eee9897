"""Configurations of the device plugin and the MIG manager, by which nodes share their GPUs.

Formats: k8s-device-plugin v0.20.0 and mig-parted v0.15.0. Both are written as JSON, which is
YAML too.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from mlcluster.catalog.gpus import MIG_DISABLED, Gpu
from mlcluster.plan.model import Manifest, Pool
from mlcluster.spec.pools import NodePool

GPU = "nvidia.com/gpu"
WHOLE = "whole"
PLUGIN_LABEL = "nvidia.com/device-plugin.config"
MIG_LABEL = "nvidia.com/mig.config"


@dataclass(frozen=True, slots=True)
class PluginSharing:
    """A kind of GPU sharing by the device plugin.

    Attributes:
        strategy: "time-slicing" or "mps"; "" for whole GPUs.
        replicas: the number of pods that share a GPU.
    """

    strategy: Literal["", "time-slicing", "mps"] = ""
    replicas: int = 1

    @property
    def key(self) -> str:
        """The name of the device plugin configuration: whole, time-slicing-4, mps-2."""
        return f"{self.strategy}-{self.replicas}" if self.strategy else WHOLE


def plugin_sharing(pool: Pool, entry: NodePool) -> PluginSharing:
    """Return the device plugin's kind of sharing on a pool."""
    match pool.accelerator.sharing if pool.accelerator is not None else "whole":
        case "timeSlicing":
            return PluginSharing("time-slicing", entry.gpu.replicas)
        case "mps":
            return PluginSharing("mps", entry.gpu.replicas)
        case _:
            return PluginSharing()


def plugin_configuration(sharing: PluginSharing, mig_strategy: str) -> str:
    """Return the configuration of the device plugin for a kind of sharing.

    The resource stays nvidia.com/gpu, which quotas count. A pod with several slices would get no more than one: with
    time slicing the configuration makes the plugin reject such pods; with MPS the plugin always rejects them.
    """
    document: Manifest = {"version": "v1", "flags": {"migStrategy": mig_strategy}}
    if sharing.strategy:
        shared = {"renameByDefault": False, "resources": [{"name": GPU, "replicas": sharing.replicas}]}
        if sharing.strategy == "mps":
            document["sharing"] = {"mps": shared}
        else:
            document["sharing"] = {"timeSlicing": {**shared, "failRequestsGreaterThanOne": True}}
    return json.dumps(document, indent=2)


def mig_configuration(models: Iterable[Gpu]) -> str:
    """Return every MIG layout of these GPU models, and the layout without partitions.

    A layout that differs between models has an entry with a device filter for each group of equal models.
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
