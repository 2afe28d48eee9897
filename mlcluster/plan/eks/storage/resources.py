"""Cloud resources of shared volumes: file systems, security groups, mount targets, access points."""

from collections.abc import Iterator

from mlcluster.plan.eks.context import EksContext
from mlcluster.plan.eks.storage.efs import efs_resources
from mlcluster.plan.eks.storage.lustre import lustre_resources
from mlcluster.plan.eks.storage.volumes import shared_volumes
from mlcluster.plan.model import PlanResource


def storage_resources(context: EksContext) -> tuple[PlanResource, ...]:
    """Return every cloud resource of the spec's shared volumes; () without shared volumes."""
    return tuple(_resources(context))


def _resources(context: EksContext) -> Iterator[PlanResource]:
    for volume in shared_volumes(context):
        make = efs_resources if volume.configured.kind == "efs" else lustre_resources
        yield from make(context, volume)
