"""Checks of the purchase options of `eks` pools: Spot, Capacity Reservations, Capacity Blocks.

Source: Amazon EKS user guide "Capacity Blocks" (a separate launch template, one zone, no nodes before the start).
"""

import re
from calendar import monthrange
from collections.abc import Iterator

from mlcluster.catalog.instances import InstanceType, instance_names, known_instance
from mlcluster.spec.checks.instances import unknown_instance
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.eks import EksTarget
from mlcluster.spec.eks_nodes import eks_allocatable, pods_per_node
from mlcluster.spec.partial_checks import stop_at_unknown_value
from mlcluster.spec.pools import NodePool

_UNITS = {"cpu": "milli-CPU", "pods": "pods"}


@stop_at_unknown_value
def capacity_problems(here: Loc, pool: NodePool, target: EksTarget) -> Iterator[Problem]:
    """Yield problems for purchase options that EC2 rejects, and for instance types that differ within a pool."""
    block = pool.capacity.type == "capacityBlock"
    if pool.capacity.is_reserved and not pool.zones:
        message = f"zones is missing; capacity type {pool.capacity.type} needs the zone of the reservation"
        yield Problem(here, message, f"Set the zone, for example `zones: [{target.region}a]`")
    yield from _capacity_block(here, pool, target) if block else _times_without_block((*here, "capacity"), pool)
    yield from _times((*here, "capacity"), pool)
    yield from _alternatives((*here, "capacity", "also"), pool)


@stop_at_unknown_value
def _capacity_block(here: Loc, pool: NodePool, target: EksTarget) -> Iterator[Problem]:
    if pool.min_size:
        message = "expected 0, because a Capacity Block has no nodes before its start and after its end"
        yield Problem((*here, "minSize"), message, "Set `minSize: 0`")
    if pool.network.placement_group != "none":
        message = (
            "placement groups are not supported with Capacity Blocks, whose nodes AWS already places close together"
        )
        yield Problem((*here, "network", "placementGroup"), message, "Remove it")
    if target.autoscaler == "none" and pool.capacity.starts_at is None:
        message = "startsAt is missing; without an autoscaler, it schedules the start of the nodes"
        yield Problem((*here, "capacity"), message, 'Add startsAt, for example "2026-12-01T11:30:00Z"', key=True)


@stop_at_unknown_value
def _times_without_block(loc: Loc, pool: NodePool) -> Iterator[Problem]:
    given = {"startsAt": pool.capacity.starts_at, "endsAt": pool.capacity.ends_at}
    for key in (key for key, value in given.items() if value is not None):
        message = f"{key} needs capacity type capacityBlock, got {pool.capacity.type}"
        yield Problem((*loc, key), message, "Remove it, or set `type: capacityBlock`", key=True)


@stop_at_unknown_value
def _times(loc: Loc, pool: NodePool) -> Iterator[Problem]:
    given = {"startsAt": pool.capacity.starts_at, "endsAt": pool.capacity.ends_at}
    times = {key: _parsed_time(text) for key, text in given.items() if text is not None}
    for key, time in times.items():
        if time is None:
            yield Problem((*loc, key), f"{given[key]} is not a valid date and time", "For example 2026-12-01T11:30Z")
    starts, ends = times.get("startsAt"), times.get("endsAt")
    if starts and ends and ends <= starts:
        message = f"the end is not after the start, {given['startsAt']}"
        yield Problem((*loc, "endsAt"), message, "Set a later time")


def _parsed_time(text: str) -> tuple[int, ...] | None:
    """Return the parts of a UTC time from the year to the second; None for an invalid date or time."""
    year, month, day, hour, minute, second = (*map(int, re.findall("[0-9]+", text)), 0)[:6]
    if not (year and 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]):
        return None
    return (year, month, day, hour, minute, second) if hour < 24 and max(minute, second) < 60 else None


@stop_at_unknown_value
def _alternatives(loc: Loc, pool: NodePool) -> Iterator[Problem]:
    first = known_instance(pool.instance_type or "")
    if pool.capacity.also and pool.capacity.type != "spot":
        message = f"alternative instance types need capacity type spot, got {pool.capacity.type}"
        yield Problem(loc, message, "Set `type: spot`, or use a pool for each instance type", key=True)
        return
    for index, name in enumerate(pool.capacity.also):
        here, other = (*loc, index), known_instance(name)
        if name in (pool.instance_type, *pool.capacity.also[:index]):
            yield Problem(here, f"duplicate instance type {name}", "Remove it")
        elif other is None:
            message, hint = unknown_instance(name, instance_names())
            yield Problem(here, message, hint)
        elif first is not None:
            yield from _different_type(here, pool, first, other)


def _different_type(loc: Loc, pool: NodePool, first: InstanceType, other: InstanceType) -> Iterator[Problem]:
    """Yield a problem for a type that differs from the first type or offers less, because quotas use the first type."""
    pairs = {
        "architecture": (first.arch, other.arch),
        "GPU model": (first.accelerator or "none", other.accelerator or "none"),
        "number of GPUs": (first.accelerator_count, other.accelerator_count),
        "GPU memory": (first.accelerator_memory_mib, other.accelerator_memory_mib),
        "number of EFA interfaces": (first.efa, other.efa) if pool.network.efa else (0, 0),
    }
    for what, (wanted, found) in pairs.items():
        if wanted != found:
            message = f"the {what} of {other.name} differs from {first.name}: expected {wanted}, got {found}"
            yield Problem(loc, message, "Use a separate pool for this instance type")
            return
    pods = pods_per_node(first)
    promised = eks_allocatable(pool, first)
    offered = {**eks_allocatable(pool, other, pods), "pods": min(pods, pods_per_node(other))}
    short = next((name for name in promised if offered[name] < promised[name]), None)
    if short is not None:
        unit = _UNITS.get(short, "MiB")
        message = (
            f"{other.name} offers less {short} than {first.name}: "
            f"expected at least {promised[short]:,} {unit}, got {offered[short]:,}"
        )
        yield Problem(loc, message, f"Set `instanceType: {other.name}`, and move {first.name} to `also`")
