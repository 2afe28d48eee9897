"""GPU models: product labels and MIG profiles (source: ec2_instances.SOURCE.txt)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU model.

    Attributes:
        memory_mib: memory of one device, MiB.
        product_label: value of the node label nvidia.com/gpu.product; None when unknown.
        mig_profiles: profile -> how many instances of it one device holds; empty when it cannot be partitioned.
    """

    model: str
    memory_mib: int
    product_label: str | None
    mig_profiles: Mapping[str, int]


@cache
def gpus() -> tuple[Gpu, ...]:
    """Every GPU model that the catalogue knows."""
    text = Path(__file__).with_name("gpus.json").read_text("utf-8")
    return tuple(
        Gpu(entry["model"], entry["memoryMib"], entry["productLabel"], entry["migProfiles"])
        for entry in json.loads(text)
    )


def gpu(model: str, memory_mib: int | None) -> Gpu | None:
    """The facts of a model with this much memory per device, or None when the catalogue does not know it."""
    return next((known for known in gpus() if known.model == model and known.memory_mib == memory_mib), None)


_TESLA = frozenset({"t4", "v100", "a100"})


def accelerator_label(model: str) -> str:
    """Value of the node label k8s.amazonaws.com/accelerator for a GPU model, e.g. nvidia-tesla-t4, nvidia-h100.

    The Cluster Autoscaler asks only whether the label is there, so any value does; these are spelt like those in
    its AWS documentation.
    """
    return f"nvidia-tesla-{model}" if model in _TESLA else f"nvidia-{model}"
