"""The image of a pool's nodes: EKS chooses the AMI by type and release.

Source: Amazon EKS API reference, Nodegroup amiType.
"""

from mlcluster.catalog.eks import ami_type, eks_version
from mlcluster.plan.eks.context import EksContext
from mlcluster.plan.model import Pool


def ami_type_of(context: EksContext, pool: Pool) -> str:
    """The EKS AMI type of a pool, e.g. AL2023_x86_64_NVIDIA: driver and container toolkit are in the image.

    Raises:
        KeyError: EKS makes no such image any more (AL2), or none that is supported; the spec's checks refuse both.
    """
    return ami_type(context.spec_pool(pool).ami.family, pool.arch, "nvidia" if pool.accelerator else "")


def ami_release(context: EksContext, pool: Pool) -> str | None:
    """The release of the image: what the spec says, else the catalogue's pin; None lets EKS take the newest."""
    given = context.spec_pool(pool).ami.release
    if given is not None:
        return given
    pins = eks_version(context.target.kubernetes_version)
    return pins.ami_releases.get(ami_type_of(context, pool)) if pins else None
