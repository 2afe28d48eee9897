"""Checks of storage classes and shared volumes."""

from collections.abc import Iterator

from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.eks import EksTarget
from mlcluster.spec.partial_checks import known_values, stop_at_unknown_value
from mlcluster.spec.storage import SharedVolume, StorageClass
from mlcluster.spec.suggestions import did_you_mean, listed
from mlcluster.spec.vpc_layout import cluster_zones

SMALLEST_GIB, STEP_GIB = 1200, 2400
BASE_IOPS = 3000
IOPS_PER_MIB = 4
"""gp3 supports at most 0.25 MiB/s per IOPS (EBS user guide, gp3 performance)."""

_EKS_CLASS = "gp2"
_ONLY_FOR = {"layout": "efs", "capacityGib": "fsxLustre", "throughputPerTib": "fsxLustre", "zone": "fsxLustre"}


def storage_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Yield problems for storage that EKS does not support."""
    if not isinstance(spec.target, EksTarget):
        yield from _other_target(spec)
        return
    yield from _classes(spec)
    yield from _names(spec)
    for index, volume in enumerate(spec.storage.volumes):
        here: Loc = ("storage", "volumes", index)
        yield from _teams((*here, "teams"), spec, volume)
        yield from _kind_settings(here, volume)
        yield from _lustre(here, volume, spec.target)


@stop_at_unknown_value
def _names(spec: ClusterSpec) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for index, name in known_values(spec.storage.volumes, lambda volume: volume.name):
        if name in first:
            message = f"duplicate name {name}; it is also the name of storage.volumes[{first[name]}]"
            yield Problem(("storage", "volumes", index, "name"), message, "Use a unique one")
        first.setdefault(name, index)


def _other_target(spec: ClusterSpec) -> Iterator[Problem]:
    for key in ("classes", "volumes"):
        yield from _not_on_this_target(spec, key)


@stop_at_unknown_value
def _not_on_this_target(spec: ClusterSpec, key: str) -> Iterator[Problem]:
    if getattr(spec.storage, key):
        message = f"storage on target {spec.target.kind} is not supported yet"
        yield Problem(("storage", key), message, "Remove it. PersistentVolumeClaims use the existing classes", key=True)


@stop_at_unknown_value
def _classes(spec: ClusterSpec) -> Iterator[Problem]:
    classes = spec.storage.classes
    first: dict[str, int] = {}
    default: int | None = None
    for index, one in enumerate(classes):
        here: Loc = ("storage", "classes", index)
        if one.name == _EKS_CLASS:
            yield Problem(
                (*here, "name"), "EKS creates a StorageClass with this name", "Choose another name, for example gp3"
            )
        elif one.name in first:
            message = f"duplicate name {one.name}; it is also the name of storage.classes[{first[one.name]}]"
            yield Problem((*here, "name"), message, "Use a unique one")
        first.setdefault(one.name, index)
        if one.default and default is not None:
            message = f"expected a single default class; storage.classes[{default}] is also the default"
            yield Problem((*here, "default"), message, "Remove `default: true` from one of the two")
        elif one.default:
            default = index
        yield from _throughput(here, one)


@stop_at_unknown_value
def _throughput(here: Loc, one: StorageClass) -> Iterator[Problem]:
    iops = one.iops or BASE_IOPS
    if one.throughput_mib is not None and one.throughput_mib * IOPS_PER_MIB > iops:
        needed = one.throughput_mib * IOPS_PER_MIB
        message = f"a throughput of {one.throughput_mib} MiB/s needs {needed:,} IOPS, got {iops:,}"
        yield Problem((*here, "throughputMib"), message, f"Set at most {iops // IOPS_PER_MIB}, or raise `iops`")


@stop_at_unknown_value
def _teams(here: Loc, spec: ClusterSpec, volume: SharedVolume) -> Iterator[Problem]:
    teams = [team.name for team in spec.teams]
    for index, name in enumerate(volume.teams or ()):
        if name not in teams:
            hint = did_you_mean(name, teams, otherwise=f"Teams: {listed(teams) or 'none'}")
            yield Problem((*here, index), f"unknown team {name}", hint)
        elif name in (volume.teams or [])[:index]:
            yield Problem((*here, index), f"duplicate team {name}", "Remove one of the two")


@stop_at_unknown_value
def _kind_settings(here: Loc, volume: SharedVolume) -> Iterator[Problem]:
    fields = type(volume).model_fields
    given = {fields[name].alias or name for name in volume.model_fields_set}
    for key, kind in _ONLY_FOR.items():
        if key in given and kind != volume.kind:
            yield Problem(
                (*here, key), f"{key} is not supported by kind {volume.kind}, only by {kind}", "Remove it", key=True
            )


@stop_at_unknown_value
def _lustre(here: Loc, volume: SharedVolume, target: EksTarget) -> Iterator[Problem]:
    if volume.kind != "fsxLustre":
        return
    size = volume.capacity_gib
    if size is not None and size != SMALLEST_GIB and size % STEP_GIB:
        next_size = (size // STEP_GIB + 1) * STEP_GIB if size > SMALLEST_GIB else SMALLEST_GIB
        message = f"expected 1200 or a multiple of 2400, got {size}"
        yield Problem((*here, "capacityGib"), message, f"For example {next_size}")
    zones = cluster_zones(target)
    if volume.zone is not None and zones and volume.zone not in zones:
        message = f"the cluster has no subnet in {volume.zone}"
        yield Problem((*here, "zone"), message, f"Zones: {listed(zones)}")
