"""EC2 instance types: allocatable resources, accelerators, prices (source: ec2_instances.SOURCE.txt)."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PRICE_REGION = "us-east-1"
PRICE_DATE = "2026-07-20"


@dataclass(frozen=True, slots=True)
class InstanceType:
    """One EC2 instance type.

    Attributes:
        accelerator: model, e.g. "h100"; "" without one.
        accelerator_manufacturer: e.g. "nvidia", "aws"; "" without one.
        accelerator_memory_mib: per device, MiB; None when unknown.
        vcpu: number of vCPUs, which EC2's quotas count.
        memory_mib: of the machine, MiB, before anything is kept back.
        efa: EFA interfaces; 0 when it has none.
        local_nvme_gb: instance store, GB (10^9 bytes) in all; 0 without one.
        allocatable_cpu_milli: amount that pods can use, milli-CPU; memory and ephemeral storage in MiB.
        usd_per_hour: Linux on demand in us-east-1; None when unknown.
    """

    name: str
    arch: str
    vcpu: int
    memory_mib: int
    accelerator: str
    accelerator_manufacturer: str
    accelerator_count: int
    accelerator_memory_mib: int | None
    efa: int
    local_nvme_gb: int
    allocatable_cpu_milli: int
    allocatable_memory_mib: int
    allocatable_pods: int
    allocatable_ephemeral_mib: int
    usd_per_hour: float | None


@cache
def _lines() -> dict[str, str]:
    text = Path(__file__).with_name("ec2_instances.csv").read_text("utf-8")
    return {line.partition(",")[0]: line for line in text.splitlines()}


@cache
def instance_names() -> frozenset[str]:
    """Return the names of all instance types in the catalog."""
    return frozenset(_lines()) - {"instance_type"}


@cache
def instance_type(name: str) -> InstanceType:
    """Return the facts of an instance type.

    Raises:
        KeyError: the catalog does not have it.
    """
    if name not in instance_names():
        raise KeyError(name)
    row: Mapping[str, str] = dict(zip(*csv.reader([_lines()["instance_type"], _lines()[name]]), strict=True))
    price = row["on_demand_usd_per_hour_us_east_1"]
    return InstanceType(
        name=name,
        arch=row["arch"],
        vcpu=int(row["vcpu"]),
        memory_mib=int(row["memory_mib"]),
        accelerator=row["accelerator"],
        accelerator_manufacturer=row["accelerator_manufacturer"],
        accelerator_count=int(row["accelerator_count"] or 0),
        accelerator_memory_mib=int(row["accelerator_memory_mib"]) if row["accelerator_memory_mib"] else None,
        efa=int(row["efa"] or 0),
        local_nvme_gb=int(row["local_nvme_gb"] or 0),
        allocatable_cpu_milli=int(row["allocatable_cpu_milli"]),
        allocatable_memory_mib=int(row["allocatable_memory_mib"]),
        allocatable_pods=int(row["allocatable_pods"]),
        allocatable_ephemeral_mib=int(row["allocatable_ephemeral_mib"]),
        usd_per_hour=float(price) if price else None,
    )


def known_instance(name: str) -> InstanceType | None:
    """Return the facts of an instance type; None for a type that the catalog lacks."""
    return instance_type(name) if name in instance_names() else None
