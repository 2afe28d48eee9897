"""Shared volumes with their defaults, and the ids of their resources."""

from dataclasses import dataclass

from mlcluster.plan.eks.context import EksContext
from mlcluster.spec.document import Loc
from mlcluster.spec.storage import SharedVolume

DEFAULT_CAPACITY_GIB = 1200
"""The smallest FSx for Lustre file system of type PERSISTENT_2 (CreateFileSystem, StorageCapacity)."""


@dataclass(frozen=True, slots=True)
class Volume:
    """One shared volume.

    Attributes:
        configured: the entry of the spec.
        teams: names of the teams that have it, in the spec's order of teams.
        group: name of its security group in AWS; the group's id is SecurityGroup/<group>.
    """

    configured: SharedVolume
    teams: tuple[str, ...]
    group: str
    spec_path: Loc

    @property
    def name(self) -> str:
        """The name of the volume and of the claim in each team's namespace."""
        return self.configured.name

    @property
    def file_system(self) -> str:
        """The id of the file system among the plan's resources."""
        kind = "FileSystem" if self.configured.kind == "efs" else "LustreFileSystem"
        return f"{kind}/{self.name}"

    @property
    def capacity_gib(self) -> int:
        """The capacity of an FSx for Lustre file system, in GiB."""
        return self.configured.capacity_gib or DEFAULT_CAPACITY_GIB

    def access_point(self, team: str) -> str:
        """Return the id of a team's access point to an EFS file system; volume and team names have no dots."""
        return f"AccessPoint/{self.name}.{team}"


def shared_volumes(context: EksContext) -> tuple[Volume, ...]:
    """Return every shared volume of the spec."""
    every = [team.name for team in context.spec.teams]
    return tuple(
        Volume(
            configured=volume,
            teams=tuple(team for team in every if volume.teams is None or team in volume.teams),
            group=f"{context.name}-volume-{volume.name}",
            spec_path=("storage", "volumes", index),
        )
        for index, volume in enumerate(context.spec.storage.volumes)
    )


def lustre_zone(context: EksContext, volume: Volume) -> str:
    """Return the only zone of an FSx file system: configured, else of the first pool with one zone, else the first."""
    if volume.configured.zone is not None:
        return volume.configured.zone
    single = [zones[0] for pool in context.pools if len(zones := context.zones_of(pool)) == 1]
    return (*single, *context.zones)[0]
