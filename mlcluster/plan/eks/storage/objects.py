"""Kubernetes objects of the storage: StorageClasses, and a claim of each shared volume in each team's namespace."""

from collections.abc import Iterator

from mlcluster.plan.eks.context import EksContext
from mlcluster.plan.eks.storage.volumes import Volume, shared_volumes
from mlcluster.plan.model import Manifest, PlanObject, TeamPlan
from mlcluster.plan.objects import make, object_id
from mlcluster.plan.values import Joined, Ref
from mlcluster.spec.document import Loc
from mlcluster.spec.storage import StorageClass

EBS, EFS, FSX = "ebs.csi.aws.com", "efs.csi.aws.com", "fsx.csi.aws.com"
DEFAULT_CLASS = "gp3"
IS_DEFAULT = "storageclass.kubernetes.io/is-default-class"
EFS_CAPACITY = "5Gi"
"""A claim must request a size; EFS grows automatically and no driver reads the value."""


def storage_objects(context: EksContext, teams: tuple[TeamPlan, ...]) -> list[PlanObject]:
    """Return StorageClasses, and a PersistentVolume and a claim of each shared volume for each of its teams."""
    namespaces = {team.name: team.namespace for team in teams}
    claims = [
        entry
        for volume in shared_volumes(context)
        for team in volume.teams
        if team in namespaces
        for entry in _claim(context, volume, team, namespaces[team])
    ]
    return [*_classes(context), *claims]


def _classes(context: EksContext) -> Iterator[PlanObject]:
    written = context.spec.storage.classes
    if not written:
        yield _class(context, StorageClass(name=DEFAULT_CLASS, default=True), ("storage",))
    for index, one in enumerate(written):
        yield _class(context, one, ("storage", "classes", index))


def _class(context: EksContext, one: StorageClass, spec_path: Loc) -> PlanObject:
    parameters = {"type": "gp3", "encrypted": "true"}
    if one.iops is not None:
        parameters["iops"] = str(one.iops)
    if one.throughput_mib is not None:
        parameters["throughput"] = str(one.throughput_mib)
    # The volumes have the tags of mlcluster too, so that the search for leftover resources finds them.
    for number, (key, value) in enumerate(context.tags.items(), start=1):
        parameters[f"tagSpecification_{number}"] = f"{key}={value}"
    body: Manifest = {
        "provisioner": EBS,
        "parameters": parameters,
        "reclaimPolicy": one.reclaim.capitalize(),
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowVolumeExpansion": True,
    }
    annotations = {IS_DEFAULT: "true"} if one.default else None
    return make(
        context.name, "storage.k8s.io/v1", "StorageClass", one.name, body, annotations=annotations, spec_path=spec_path
    )


def _claim(context: EksContext, volume: Volume, team: str, namespace: str) -> tuple[PlanObject, PlanObject]:
    """Return a volume that only this claim can bind, and the claim; names are unique because labels have no dots."""
    persistent = f"{team}.{volume.name}"
    path = volume.spec_path
    offered, wanted = _offered(volume, team, namespace), _wanted(volume, persistent)
    return (
        make(context.name, "v1", "PersistentVolume", persistent, {"spec": offered}, spec_path=path, team=team),
        make(
            context.name,
            "v1",
            "PersistentVolumeClaim",
            volume.name,
            {"spec": wanted},
            namespace=namespace,
            needs=(object_id("PersistentVolume", persistent),),
            spec_path=path,
            team=team,
        ),
    )


def _offered(volume: Volume, team: str, namespace: str) -> Manifest:
    spec: Manifest = {
        "capacity": {"storage": _size(volume)},
        "accessModes": _modes(volume),
        "volumeMode": "Filesystem",
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": "",
        "claimRef": {"namespace": namespace, "name": volume.name},
        "csi": _source(volume, team),
    }
    return {**spec, "mountOptions": ["flock"]} if volume.configured.kind == "fsxLustre" else spec


def _wanted(volume: Volume, persistent: str) -> Manifest:
    return {
        "accessModes": _modes(volume),
        "storageClassName": "",
        "volumeMode": "Filesystem",
        "volumeName": persistent,
        "resources": {"requests": {"storage": _size(volume)}},
    }


def _modes(volume: Volume) -> list[str]:
    return ["ReadOnlyMany" if volume.configured.read_only else "ReadWriteMany"]


def _size(volume: Volume) -> str:
    return EFS_CAPACITY if volume.configured.kind == "efs" else f"{volume.capacity_gib}Gi"


def _source(volume: Volume, team: str) -> Manifest:
    """Return the CSI source of a volume; handles differ by team, because a kubelet treats equal handles as one volume.

    The FSx driver mounts by dnsname and mountname and uses the handle only to distinguish volumes (aws-fsx-csi-driver,
    pkg/driver/node.go).
    """
    file_system = Ref(volume.file_system, "id")
    if volume.configured.kind == "efs":
        handle = Joined((file_system, "::", Ref(volume.access_point(team), "id")))
        source: Manifest = {"driver": EFS, "volumeHandle": handle}
    else:
        source = {
            "driver": FSX,
            "volumeHandle": Joined((file_system, f"::{team}")),
            "volumeAttributes": {
                "dnsname": Ref(volume.file_system, "dnsName"),
                "mountname": Ref(volume.file_system, "mountName"),
            },
        }
    return {**source, "readOnly": True} if volume.configured.read_only else source
