"""Storage: classes for volumes of single pods, and volumes that many pods share."""

from typing import Annotated, Literal

from pydantic import Field

from mlcluster.spec.base import Name, SpecModel, ZoneName


class StorageClass(SpecModel):
    """A StorageClass for volumes of one pod each (EBS gp3, encrypted)."""

    name: Name
    default: bool = False
    """The class of claims that name none."""
    iops: Annotated[int, Field(ge=3000, le=80_000)] | None = None
    """Operations per second; default: 3000."""
    throughput_mib: Annotated[int, Field(ge=125, le=2000)] | None = None
    """MiB per second; default: 125."""
    reclaim: Literal["retain", "delete"] = "retain"
    """What becomes of the volume when its claim is deleted."""


class SharedVolume(SpecModel):
    """A file system that many pods read and write: a claim of this name in the namespace of each team."""

    name: Name
    kind: Literal["efs", "fsxLustre"]
    teams: Annotated[list[Name], Field(min_length=1)] | None = None
    """Who has it; default: every team."""
    layout: Literal["perTeam", "shared"] = "perTeam"
    """efs: a directory of its own for each team, or one that all share."""
    read_only: bool = False
    capacity_gib: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """fsxLustre: GiB, 1200 or a multiple of 2400."""
    throughput_per_tib: Literal[125, 250, 500, 1000] = 250
    """fsxLustre: MB per second for each TiB."""
    zone: ZoneName | None = None
    """fsxLustre: its zone; default: that of the first pool with one zone."""
    retain: bool = True
    """`down` keeps the file system and says so."""


class Storage(SpecModel):
    """What pods can store on; on `eks`."""

    classes: Annotated[list[StorageClass], Field(max_length=20)] = []
    """Default on `eks`: one class, gp3."""
    volumes: Annotated[list[SharedVolume], Field(max_length=20)] = []
