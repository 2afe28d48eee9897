"""Volumes, snapshots, and file systems."""

from collections.abc import Iterator
from typing import Any

from mlcluster.aws.leftovers import prices
from mlcluster.aws.leftovers.look import Look
from mlcluster.aws.leftovers.ownership import tags_of
from mlcluster.aws.leftovers.things import Leftover


def volumes(look: Look) -> Iterator[Leftover]:
    """EBS volumes, those of claims above all; what goes with its instance is not listed."""
    for one in look.ec2("DescribeVolumes", "Volumes", "VolumeId", ""):
        why = look.owner.why(tags_of(one.get("Tags")))
        attached = one.get("Attachments", [])
        goes_with_it = attached and all(entry.get("DeleteOnTermination") for entry in attached)
        if why and not goes_with_it and one.get("State") not in {"deleting", "deleted"}:
            identifier = one["VolumeId"]
            yield look.found(
                "volume",
                identifier,
                [look.aws("ec2", "delete-volume", "--volume-id", identifier)],
                why=why,
                tags=one.get("Tags"),
                arn=look.arn("ec2", f"volume/{identifier}"),
                zone=one.get("AvailabilityZone", ""),
                hourly_usd=prices.volume(one),
                blocked_by=(entry["InstanceId"] for entry in attached if "InstanceId" in entry),
            )


def snapshots(look: Look) -> Iterator[Leftover]:
    """Of volumes; what they cost depends on what changed, so it is unknown."""
    filters = [{"Name": "tag-key", "Values": look.owner.tag_keys}]
    for one in look.every("ec2", "DescribeSnapshots", "Snapshots", OwnerIds=["self"], Filters=filters):
        why = look.owner.why(tags_of(one.get("Tags")))
        if why:
            identifier = one["SnapshotId"]
            delete = look.aws("ec2", "delete-snapshot", "--snapshot-id", identifier)
            arn = look.arn("ec2", f"snapshot/{identifier}")
            tags = one.get("Tags")
            yield look.found("snapshot", identifier, [delete], why=why, tags=tags, arn=arn, hourly_usd=None)


def efs(look: Look) -> Iterator[Leftover]:
    """EFS file systems after their mount targets; mount targets of kept ones too, for they hold the network."""
    for one in look.every("efs", "DescribeFileSystems", "FileSystems"):
        why = look.owner.why(tags_of(one.get("Tags")))
        if not why or one.get("LifeCycleState") in {"deleting", "deleted"}:
            continue
        identifier = one["FileSystemId"]
        targets = look.every("efs", "DescribeMountTargets", "MountTargets", FileSystemId=identifier)
        for target in targets:
            yield _mount_target(look, target, identifier)
        yield look.found(
            "EFS file system",
            identifier,
            [look.aws("efs", "delete-file-system", "--file-system-id", identifier)],
            why=why,
            tags=one.get("Tags"),
            arn=one.get("FileSystemArn", ""),
            hourly_usd=prices.efs(one),
            blocked_by=(target["MountTargetId"] for target in targets),
        )


def _mount_target(look: Look, target: dict[str, Any], file_system: str) -> Leftover:
    identifier = target["MountTargetId"]
    return look.found(
        "EFS mount target",
        identifier,
        [look.aws("efs", "delete-mount-target", "--mount-target-id", identifier)],
        why=f"of {file_system}",
        zone=target.get("AvailabilityZoneName", ""),
    )


def fsx(look: Look) -> Iterator[Leftover]:
    """FSx file systems; the interfaces of a kept one are kept with it."""
    for one in look.every("fsx", "DescribeFileSystems", "FileSystems"):
        why = look.owner.why(tags_of(one.get("Tags")), one.get("VpcId", ""))
        if not why or one.get("Lifecycle") == "DELETING":
            continue
        identifier, arn = one["FileSystemId"], one.get("ResourceARN", "")
        if look.kept & {identifier, arn}:
            look.kept.update(one.get("NetworkInterfaceIds", []))
        yield look.found(
            "FSx file system",
            identifier,
            [look.aws("fsx", "delete-file-system", "--file-system-id", identifier)],
            why=why,
            tags=one.get("Tags"),
            arn=arn,
            hourly_usd=prices.lustre(one) if one.get("FileSystemType") == "LUSTRE" else None,
        )


def fsx_backups(look: Look) -> Iterator[Leftover]:
    """Backups outlive their file system."""
    for one in look.every("fsx", "DescribeBackups", "Backups"):
        why = look.owner.why(tags_of(one.get("Tags")))
        if why and one.get("Lifecycle") != "DELETED":
            identifier = one["BackupId"]
            delete = look.aws("fsx", "delete-backup", "--backup-id", identifier)
            arn, tags = one.get("ResourceARN", ""), one.get("Tags")
            yield look.found("FSx backup", identifier, [delete], why=why, tags=tags, arn=arn, hourly_usd=None)
