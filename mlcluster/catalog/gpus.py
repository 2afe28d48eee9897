"""GPU models: product labels and MIG layouts (source: ec2_instances.SOURCE.txt)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

GPU_RESOURCE = "nvidia.com/gpu"
"""The resource by which pods request whole GPUs, time slices and MPS shares, and MIG instances with `single`."""

ACCELERATOR_TAINT = "nvidia.com/gpu"
"""The key of the taint on nodes with GPUs."""

MIG_DISABLED = "all-disabled"
"""The layout of every GPU that is not partitioned."""

MIG_BALANCED = "all-balanced"
"""The layout with instances of several sizes on each GPU."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU model.

    Attributes:
        memory_mib: memory of one device, MiB.
        product_label: value of the node label nvidia.com/gpu.product; None when unknown.
        device_ids: PCI device and vendor of the cards with these layouts, as mig-parted's device-filter has them.
        mig_layouts: named configuration of mig-parted -> profile -> instances on one device, e.g. all-1g.5gb.me ->
            {"1g.5gb+me": 1}; empty when it cannot be partitioned. Every one can also have `MIG_DISABLED`.
    """

    model: str
    memory_mib: int
    product_label: str | None
    device_ids: tuple[str, ...]
    mig_layouts: Mapping[str, Mapping[str, int]]


@cache
def gpus() -> tuple[Gpu, ...]:
    """Return every GPU model of the catalog."""
    text = Path(__file__).with_name("gpus.json").read_text("utf-8")
    return tuple(
        Gpu(entry["model"], entry["memoryMib"], entry["productLabel"], tuple(entry["deviceIds"]), entry["migLayouts"])
        for entry in json.loads(text)
    )


@cache
def gpu(model: str, memory_mib: int | None) -> Gpu | None:
    """Return the facts of a model with this memory per device, or None if the catalog does not have it."""
    return next((known for known in gpus() if known.model == model and known.memory_mib == memory_mib), None)


def mig_resource(profile: str) -> str:
    """Return the resource name of a MIG instance with the strategy "mixed": 1g.5gb+me is nvidia.com/mig-1g.5gb.me.

    Source: NVIDIA/k8s-device-plugin v0.20.0, where every "+" of the profile becomes a dot.
    """
    return f"nvidia.com/mig-{profile.replace('+', '.')}"


_TESLA = frozenset({"t4", "v100", "a100"})


def accelerator_label(model: str) -> str:
    """Value of the node label k8s.amazonaws.com/accelerator for a GPU model, e.g. nvidia-tesla-t4, nvidia-h100.

    The Cluster Autoscaler only checks that the label exists, so any value works; these are spelled like those in
    its AWS documentation.
    """
    return f"nvidia-tesla-{model}" if model in _TESLA else f"nvidia-{model}"
