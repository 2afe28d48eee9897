"""The image of a pool's nodes: EKS chooses the AMI by type and release.

Source: Amazon EKS API reference, Nodegroup amiType.
"""

from mlcluster.catalog.eks import ami_type, eks_version
from mlcluster.plan.eks.context import EksContext
from mlcluster.plan.model import Pool


def ami_type_of(context: EksContext, pool: Pool) -> str:
    """Return the EKS AMI type of a pool, e.g. AL2023_x86_64_NVIDIA, whose image has driver and container toolkit.

    Raises:
        KeyError: EKS no longer makes such an image (AL2), or makes no supported image; the spec checks reject both.
    """
    return ami_type(context.spec_pool(pool).ami.family, pool.arch, "nvidia" if pool.accelerator else "")


def ami_release(context: EksContext, pool: Pool) -> str | None:
    """Return the release of the image: that of the spec, else the catalog's pin; with None EKS uses the newest."""
    given = context.spec_pool(pool).ami.release
    if given is not None:
        return given
    pins = eks_version(context.target.kubernetes_version)
    return pins.ami_releases.get(ami_type_of(context, pool)) if pins else None
