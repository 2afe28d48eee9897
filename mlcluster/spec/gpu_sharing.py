"""GPUs of a node pool: MIG, time-slicing or MPS, the accelerator taint, and the software in the image."""

from typing import Annotated, Literal

from pydantic import Field

from mlcluster.catalog.gpus import MIG_DISABLED
from mlcluster.spec.base import Doc, SpecModel


class TimeSlicing(SpecModel):
    """GPU time-slicing: pods take turns on a GPU, without memory isolation."""

    replicas: Annotated[int, Field(ge=2, le=48), Doc(example=4, unit="pods")]
    """Number of pods that share each physical GPU."""


class Mps(SpecModel):
    """NVIDIA Multi-Process Service: pods run on a GPU at once, each with a fraction of its memory and threads."""

    replicas: Annotated[int, Field(ge=2, le=48), Doc(example=2, unit="pods")]
    """Number of pods that share each physical GPU."""


MigLayout = Annotated[str, Field(pattern=r"^all-(disabled|balanced|[0-9]+g\.[0-9]+gb([.-][a-z]+)*)$", max_length=40)]
ImageDuty = Literal["driver", "toolkit", "devicePlugin", "migManager"]


class PoolGpu(SpecModel):
    """GPU sharing, and the accelerator taint."""

    mig: Annotated[MigLayout | None, Doc(example="all-1g.10gb")] = None
    """MIG layout of every GPU, by its name in mig-parted, such as `all-1g.5gb`, `all-balanced` or `all-disabled`."""
    time_slicing: TimeSlicing | None = None
    """Share each GPU by time-slicing. Choose one of `mig`, `timeSlicing` and `mps`."""
    mps: Mps | None = None
    """Share each GPU with MPS. Choose one of `mig`, `timeSlicing` and `mps`."""
    taint: Annotated[bool, Doc(targets=("eks", "local"))] = True
    """Put the taint `nvidia.com/gpu` on GPU nodes, so that only pods that request GPUs are scheduled there."""
    image_brings: Annotated[
        list[ImageDuty], Field(max_length=4), Doc(example=["driver", "toolkit"], targets=("existing", "local"))
    ] = []
    """GPU software that the node image already contains, so that the GPU operator does not install it. On `eks`,
    mlcluster knows the images."""

    @property
    def partitioned(self) -> bool:
        """Return whether MIG partitions the GPUs."""
        return self.mig is not None and self.mig != MIG_DISABLED

    @property
    def replicas(self) -> int:
        """Return the number of pods that share one physical GPU by time-slicing or MPS; 1 without sharing."""
        sharing = self.time_slicing or self.mps
        return sharing.replicas if sharing else 1
