"""The image of a pool's nodes: EKS chooses the AMI by type and release.

Source: Amazon EKS API reference, Nodegroup amiType; components.md 3.1.
"""

from mlcluster.catalog.eks import eks_version
from mlcluster.plan.eks.context import EksContext
from mlcluster.plan.model import Pool

_ARCHITECTURES = {"amd64": "x86_64", "arm64": "ARM_64"}


def ami_type_of(context: EksContext, pool: Pool) -> str:
    """The EKS AMI type of a pool, e.g. AL2023_x86_64_NVIDIA: driver and container toolkit are in the image."""
    arch = _ARCHITECTURES[pool.arch]
    if context.written(pool).ami.family == "bottlerocket":
        return f"BOTTLEROCKET_{arch}{'_NVIDIA' if pool.accelerator else ''}"
    return f"AL2023_{arch}_{'NVIDIA' if pool.accelerator else 'STANDARD'}"


def ami_release(context: EksContext, pool: Pool) -> str | None:
    """The release of the image: what the spec says, else the catalogue's pin; None lets EKS take the newest."""
    given = context.written(pool).ami.release
    if given is not None:
        return given
    pins = eks_version(context.target.kubernetes_version)
    return pins.ami_releases.get(ami_type_of(context, pool)) if pins else None
