"""CSI drivers that a cluster needs."""

from mlcluster.plan.eks.context import EksContext

EBS_ADDON = "aws-ebs-csi-driver"
_ADDONS = {"efs": "aws-efs-csi-driver", "fsxLustre": "aws-fsx-csi-driver"}


def storage_addons(context: EksContext) -> tuple[str, ...]:
    """Return the names of the EKS add-ons, EBS first: every cluster has volumes for single pods."""
    kinds = {volume.kind for volume in context.spec.storage.volumes}
    return (EBS_ADDON, *(addon for kind, addon in _ADDONS.items() if kind in kinds))
