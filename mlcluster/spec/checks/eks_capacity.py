"""How the nodes of `eks` pools are bought: spot, reservations, capacity blocks.

Sources: Amazon EKS user guide "Capacity Blocks" (own template, one zone, nothing before the start).
"""

import re
from calendar import monthrange
from collections.abc import Iterator

from mlcluster.catalog.instances import InstanceType, instance_names
from mlcluster.spec.checks.facts import known_instance, units
from mlcluster.spec.checks.instances import unknown_instance
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.eks import EksTarget
from mlcluster.spec.eks_nodes import eks_allocatable, pods_per_node
from mlcluster.spec.known import as_far_as_known
from mlcluster.spec.pools import NodePool

_UNITS = {"cpu": "milli-CPU", "pods": "pods"}


@as_far_as_known
def capacity_problems(here: Loc, pool: NodePool, target: EksTarget) -> Iterator[Problem]:
    """Capacity that cannot be bought as written, or that would not give every node what the pool promises."""
    block = pool.capacity.type == "capacityBlock"
    if pool.capacity.type in {"reservation", "capacityBlock"} and not pool.zones:
        message = f"zones is missing; {pool.capacity.type} needs the zone of its reservation"
        yield Problem(here, message, f"zones: [{target.region}a], or wherever it is")
    yield from _block(here, pool, target) if block else _no_block((*here, "capacity"), pool)
    yield from _instants((*here, "capacity"), pool)
    yield from _also((*here, "capacity", "also"), pool)


@as_far_as_known
def _block(here: Loc, pool: NodePool, target: EksTarget) -> Iterator[Problem]:
    if pool.min_size:
        message = "a capacity block has no nodes before it starts and after it ends"
        yield Problem((*here, "minSize"), message, "minSize: 0")
    if pool.network.placement_group != "none":
        message = "AWS places the nodes of a capacity block itself"
        yield Problem((*here, "network", "placementGroup"), message, "remove it")
    if target.autoscaler == "none" and pool.capacity.starts_at is None:
        message = "startsAt is missing; with autoscaler none it is what starts the nodes"
        yield Problem((*here, "capacity"), message, 'add startsAt, e.g. "2026-12-01T11:30:00Z"', key=True)


@as_far_as_known
def _no_block(loc: Loc, pool: NodePool) -> Iterator[Problem]:
    given = {"startsAt": pool.capacity.starts_at, "endsAt": pool.capacity.ends_at}
    for key in (key for key, value in given.items() if value is not None):
        message = f"only a capacity block has {key}; the type is {pool.capacity.type}"
        yield Problem((*loc, key), message, "remove it, or type: capacityBlock", key=True)


@as_far_as_known
def _instants(loc: Loc, pool: NodePool) -> Iterator[Problem]:
    given = {"startsAt": pool.capacity.starts_at, "endsAt": pool.capacity.ends_at}
    times = {key: _instant(text) for key, text in given.items() if text is not None}
    for key, time in times.items():
        if time is None:
            yield Problem(
                (*loc, key), f"{given[key]} is no day and time that there is", "for example 2026-12-01T11:30Z"
            )
    starts, ends = times.get("startsAt"), times.get("endsAt")
    if starts and ends and ends <= starts:
        yield Problem((*loc, "endsAt"), f"the block ends before it starts, at {given['startsAt']}", "a later time")


def _instant(text: str) -> tuple[int, ...] | None:
    """Year to second of an instant in UTC, in that order; None where the calendar or the clock has no such one."""
    year, month, day, hour, minute, second = (*map(int, re.findall("[0-9]+", text)), 0)[:6]
    if not (year and 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]):
        return None
    return (year, month, day, hour, minute, second) if hour < 24 and max(minute, second) < 60 else None


@as_far_as_known
def _also(loc: Loc, pool: NodePool) -> Iterator[Problem]:
    first = known_instance(pool.instance_type or "")
    if pool.capacity.also and pool.capacity.type != "spot":
        message = f"several types are for spot; the type of capacity is {pool.capacity.type}"
        yield Problem(loc, message, "type: spot, or a pool for each", key=True)
        return
    for index, name in enumerate(pool.capacity.also):
        here, other = (*loc, index), known_instance(name)
        if name in (pool.instance_type, *pool.capacity.also[:index]):
            yield Problem(here, f"{name} is there already", "remove it")
        elif other is None:
            message, hint = unknown_instance(name, instance_names())
            yield Problem(here, message, hint)
        elif first is not None:
            yield from _unlike(here, pool, first, other)


def _unlike(loc: Loc, pool: NodePool, first: InstanceType, other: InstanceType) -> Iterator[Problem]:
    """Quota and templates count with the first type: no other may be unlike it, or offer less."""
    pairs = {
        "architecture": (first.arch, other.arch),
        "GPU model": (first.accelerator or "none", other.accelerator or "none"),
        "number of GPUs": (first.accelerator_count, other.accelerator_count),
        "GPU memory": (first.accelerator_memory_mib, other.accelerator_memory_mib),
        "number of EFA interfaces": (first.efa, other.efa) if pool.network.efa else (0, 0),
    }
    for what, (wanted, found) in pairs.items():
        if wanted != found:
            message = f"{other.name} has another {what} than {first.name}: {found}, not {wanted}"
            yield Problem(loc, message, "the types of a pool are alike; make another pool")
            return
    pods = pods_per_node(first)
    root = units("ephemeralStorage", pool.root_volume.size)
    promised = eks_allocatable(pool, first, root_mib=root)
    offered = {**eks_allocatable(pool, other, root_mib=root, pods=pods), "pods": min(pods, pods_per_node(other))}
    short = next((name for name in promised if offered[name] < promised[name]), None)
    if short is not None:
        unit = _UNITS.get(short, "MiB")
        message = (
            f"{other.name} offers less {short} than {first.name}: {offered[short]:,} {unit}, not {promised[short]:,}"
        )
        yield Problem(loc, message, f"make {other.name} the instanceType; quota counts with the smallest")
