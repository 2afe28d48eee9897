"""EFS: one encrypted file system, a mount target in every zone, an access point for every team."""

from mlcluster.plan.eks.context import EksContext, resource
from mlcluster.plan.eks.network import node_subnet
from mlcluster.plan.eks.storage.security_groups import NFS_PORTS, group_ref, nodes_in, security_group
from mlcluster.plan.eks.storage.volumes import Volume
from mlcluster.plan.model import Manifest, PlanResource
from mlcluster.plan.values import JsonText, Ref

FILE_SYSTEM = "aws:efs/fileSystem:FileSystem"
MOUNT_TARGET = "aws:efs/mountTarget:MountTarget"
ACCESS_POINT = "aws:efs/accessPoint:AccessPoint"
POLICY = "aws:efs/fileSystemPolicy:FileSystemPolicy"
OWNER = 1000
"""POSIX user and group of every file written through an access point, regardless of the pod's user."""


def efs_resources(context: EksContext, volume: Volume) -> list[PlanResource]:
    """Return the resources of one EFS volume; with `retain`, `down` keeps only the file system.

    The file system is outside the VPC: without its mount targets it keeps its data and blocks no network resource.
    """
    points = [_access_point(context, volume, team) for team in volume.teams]
    return [
        _file_system(context, volume),
        security_group(context, volume, "EFS volume"),
        *nodes_in(context, volume, NFS_PORTS),
        *(_mount_target(context, volume, zone) for zone in context.zones),
        *points,
        *([_policy(volume)] if points else []),
    ]


def _file_system(context: EksContext, volume: Volume) -> PlanResource:
    inputs: Manifest = {
        "encrypted": True,
        "performanceMode": "generalPurpose",
        "throughputMode": "elastic",
        # The API accepts a list of policies with a single transition rule in each.
        "lifecyclePolicies": [
            {"transitionToIa": "AFTER_30_DAYS"},
            {"transitionToPrimaryStorageClass": "AFTER_1_ACCESS"},
        ],
        "tags": {**context.tags, "Name": f"{context.name}-{volume.name}"},
    }
    retained = volume.configured.retain
    return resource(FILE_SYSTEM, volume.name, inputs, spec_path=volume.spec_path, retained=retained)


def _mount_target(context: EksContext, volume: Volume, zone: str) -> PlanResource:
    inputs = {
        "fileSystemId": Ref(volume.file_system, "id"),
        "subnetId": node_subnet(context, zone),
        "securityGroups": [group_ref(volume)],
    }
    return resource(MOUNT_TARGET, f"{volume.name}.{zone}", inputs, spec_path=volume.spec_path)


def _access_point(context: EksContext, volume: Volume, team: str) -> PlanResource:
    """Return a team's access point, to its own directory or to the common directory.

    Each team has an access point because two PVs of a node must not have the same volume handle.
    """
    path = f"/teams/{team}" if volume.configured.layout == "perTeam" else "/shared"
    inputs = {
        "fileSystemId": Ref(volume.file_system, "id"),
        "posixUser": {"uid": OWNER, "gid": OWNER},
        "rootDirectory": {
            "path": path,
            "creationInfo": {"ownerUid": OWNER, "ownerGid": OWNER, "permissions": "0770"},
        },
        "tags": {**context.tags, "Name": f"{context.name}-{volume.name}-{team}"},
    }
    return resource(ACCESS_POINT, f"{volume.name}.{team}", inputs, spec_path=volume.spec_path, team=team)


def _policy(volume: Volume) -> PlanResource:
    """Return the file system's policy: it allows only encrypted connections through an access point.

    Otherwise a pod with an inline `nfs` volume mounts the root and reads every team's directory. Condition keys: EFS
    user guide, "Using IAM to control access to file systems" and "Using access points in IAM policies".
    """
    file_system = Ref(volume.file_system, "arn")
    points = [Ref(volume.access_point(team), "arn") for team in volume.teams]
    document = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "AccessPointsOnly",
                "Effect": "Allow",
                "Principal": {"AWS": "*"},
                "Action": ["elasticfilesystem:ClientMount", "elasticfilesystem:ClientWrite"],
                "Resource": file_system,
                "Condition": {
                    "Bool": {"elasticfilesystem:AccessedViaMountTarget": "true"},
                    "StringEquals": {"elasticfilesystem:AccessPointArn": points},
                },
            },
            {
                "Sid": "EncryptedOnly",
                "Effect": "Deny",
                "Principal": {"AWS": "*"},
                "Action": "*",
                "Resource": file_system,
                "Condition": {"Bool": {"aws:SecureTransport": "false"}},
            },
        ],
    }
    inputs = {"fileSystemId": Ref(volume.file_system, "id"), "policy": JsonText(document)}
    return resource(POLICY, volume.name, inputs, spec_path=volume.spec_path)
