"""Storage: classes for volumes of single pods, and file systems that many pods share."""

from typing import Annotated, Literal

from pydantic import Field

from mlcluster.spec.base import Doc, Gp3Iops, Gp3Throughput, Name, SpecModel, ZoneName


class StorageClass(SpecModel):
    """A StorageClass for encrypted EBS gp3 volumes, each of which one pod uses."""

    name: Annotated[Name, Doc(example="fast")]
    """Name of the StorageClass."""
    default: bool = False
    """Use this class for PersistentVolumeClaims that name no class."""
    iops: Gp3Iops = None
    """Provisioned I/O operations per second of each volume."""
    throughput_mib: Gp3Throughput = None
    """Provisioned throughput of each volume, at most 0.25 MiB/s per provisioned IOPS."""
    reclaim: Literal["retain", "delete"] = "retain"
    """Whether the EBS volume is kept or deleted when its PersistentVolumeClaim is deleted."""


class SharedVolume(SpecModel):
    """A shared file system, with a PersistentVolumeClaim of the same name in the namespace of each team."""

    name: Annotated[Name, Doc(example="datasets")]
    """Name of the file system and of its PersistentVolumeClaims."""
    kind: Literal["efs", "fsxLustre"]
    """File system service: Amazon EFS or Amazon FSx for Lustre."""
    teams: Annotated[
        Annotated[list[Name], Field(min_length=1)] | None, Doc(example=["research"], default="every team")
    ] = None
    """Teams that get a PersistentVolumeClaim."""
    layout: Literal["perTeam", "shared"] = "perTeam"
    """Whether each team sees its own directory, or all teams see the same directory. Only for `kind: efs`."""
    read_only: bool = False
    """Mount the file system read-only."""
    capacity_gib: Annotated[
        Annotated[int, Field(ge=1, le=1_000_000)] | None, Doc(example=4800, unit="GiB", default="1200")
    ] = None
    """Storage capacity: 1200 or a multiple of 2400. Only for `kind: fsxLustre`."""
    throughput_per_tib: Annotated[Literal[125, 250, 500, 1000], Doc(unit="MB/s per TiB")] = 250
    """Throughput per unit of storage. Only for `kind: fsxLustre`."""
    zone: Annotated[
        ZoneName | None, Doc(example="us-west-2b", default="the zone of the first pool that is in a single zone")
    ] = None
    """Availability zone of the file system. Only for `kind: fsxLustre`."""
    retain: bool = True
    """Keep the file system when `mlcluster down` deletes the cluster."""


class Storage(SpecModel):
    """Storage classes and shared file systems."""

    classes: Annotated[list[StorageClass], Field(max_length=20), Doc(default="one class, named gp3")] = []
    """StorageClasses for volumes of single pods."""
    volumes: Annotated[list[SharedVolume], Field(max_length=20)] = []
    """File systems that the pods of several teams share."""
