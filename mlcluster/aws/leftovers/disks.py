"""Volumes, snapshots, and file systems."""

from collections.abc import Iterator
from typing import Any

from mlcluster.aws.leftovers import prices
from mlcluster.aws.leftovers.ownership import tags_of
from mlcluster.aws.leftovers.results import Leftover
from mlcluster.aws.leftovers.search import Search


def volumes(search: Search) -> Iterator[Leftover]:
    """Yield EBS volumes, mostly those of PersistentVolumeClaims, except those that are deleted with their instance."""
    for one in search.ec2("DescribeVolumes", "Volumes", "VolumeId", ""):
        why = search.owner.why(tags_of(one.get("Tags")))
        attached = one.get("Attachments", [])
        deleted_with_instance = attached and all(entry.get("DeleteOnTermination") for entry in attached)
        if why and not deleted_with_instance and one.get("State") not in {"deleting", "deleted"}:
            identifier = one["VolumeId"]
            yield search.found(
                "volume",
                identifier,
                [search.aws("ec2", "delete-volume", "--volume-id", identifier)],
                why=why,
                tags=one.get("Tags"),
                arn=search.arn("ec2", f"volume/{identifier}"),
                zone=one.get("AvailabilityZone", ""),
                hourly_usd=prices.volume(one),
                blocked_by=(entry["InstanceId"] for entry in attached if "InstanceId" in entry),
            )


def snapshots(search: Search) -> Iterator[Leftover]:
    """Yield snapshots of volumes. Their price is unknown, because it depends on the changed blocks."""
    filters = [{"Name": "tag-key", "Values": search.owner.tag_keys}]
    for one in search.every("ec2", "DescribeSnapshots", "Snapshots", OwnerIds=["self"], Filters=filters):
        why = search.owner.why(tags_of(one.get("Tags")))
        if why:
            identifier = one["SnapshotId"]
            delete = search.aws("ec2", "delete-snapshot", "--snapshot-id", identifier)
            arn = search.arn("ec2", f"snapshot/{identifier}")
            tags = one.get("Tags")
            yield search.found("snapshot", identifier, [delete], why=why, tags=tags, arn=arn, hourly_usd=None)


def efs(search: Search) -> Iterator[Leftover]:
    """Yield EFS file systems after their mount targets.

    The mount targets of kept file systems are included too, because they block the deletion of the network.
    """
    for one in search.every("efs", "DescribeFileSystems", "FileSystems"):
        why = search.owner.why(tags_of(one.get("Tags")))
        if not why or one.get("LifeCycleState") in {"deleting", "deleted"}:
            continue
        identifier = one["FileSystemId"]
        targets = search.every("efs", "DescribeMountTargets", "MountTargets", FileSystemId=identifier)
        for target in targets:
            yield _mount_target(search, target, identifier)
        yield search.found(
            "EFS file system",
            identifier,
            [search.aws("efs", "delete-file-system", "--file-system-id", identifier)],
            why=why,
            tags=one.get("Tags"),
            arn=one.get("FileSystemArn", ""),
            hourly_usd=prices.efs(one),
            blocked_by=(target["MountTargetId"] for target in targets),
        )


def _mount_target(search: Search, target: dict[str, Any], file_system: str) -> Leftover:
    identifier = target["MountTargetId"]
    return search.found(
        "EFS mount target",
        identifier,
        [search.aws("efs", "delete-mount-target", "--mount-target-id", identifier)],
        why=f"of {file_system}",
        zone=target.get("AvailabilityZoneName", ""),
    )


def fsx(search: Search) -> Iterator[Leftover]:
    """Yield FSx file systems. The interfaces of a kept file system are kept with it."""
    for one in search.every("fsx", "DescribeFileSystems", "FileSystems"):
        why = search.owner.why(tags_of(one.get("Tags")), one.get("VpcId", ""))
        if not why or one.get("Lifecycle") == "DELETING":
            continue
        identifier, arn = one["FileSystemId"], one.get("ResourceARN", "")
        if search.kept & {identifier, arn}:
            search.kept.update(one.get("NetworkInterfaceIds", []))
        yield search.found(
            "FSx file system",
            identifier,
            [search.aws("fsx", "delete-file-system", "--file-system-id", identifier)],
            why=why,
            tags=one.get("Tags"),
            arn=arn,
            hourly_usd=prices.lustre(one) if one.get("FileSystemType") == "LUSTRE" else None,
        )


def fsx_backups(search: Search) -> Iterator[Leftover]:
    """Yield FSx backups, which outlive their file system."""
    for one in search.every("fsx", "DescribeBackups", "Backups"):
        why = search.owner.why(tags_of(one.get("Tags")))
        if why and one.get("Lifecycle") != "DELETED":
            identifier = one["BackupId"]
            delete = search.aws("fsx", "delete-backup", "--backup-id", identifier)
            arn, tags = one.get("ResourceARN", ""), one.get("Tags")
            yield search.found("FSx backup", identifier, [delete], why=why, tags=tags, arn=arn, hourly_usd=None)
