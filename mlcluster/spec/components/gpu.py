"""Components that make GPUs usable."""

from typing import Annotated, Literal

from pydantic import Field

from mlcluster.spec.components.base import ChartComponent

Operand = Literal[
    "driver",
    "toolkit",
    "devicePlugin",
    "gpuFeatureDiscovery",
    "nodeFeatureDiscovery",
    "migManager",
    "dcgmExporter",
]
"""What the GPU operator can leave to others."""


class GpuOperator(ChartComponent):
    """NVIDIA GPU Operator: whatever the image of a node does not bring itself, from the driver to the metrics."""

    mig_strategy: Literal["single", "mixed"] = "mixed"
    """mixed: MIG instances are requested by size, nvidia.com/mig-1g.5gb; single: as nvidia.com/gpu."""
    without: Annotated[list[Operand], Field(max_length=7)] = []
    """What it leaves to somebody else, on every pool, e.g. [dcgmExporter]."""
    gds: bool = False
    """GPUDirect Storage; only where the operator brings the driver."""
    gdrcopy: bool = False
    """GDRCopy; only where the operator brings the driver, as EKS images have it."""


class DcgmExporter(ChartComponent):
    """DCGM exporter by itself, where the GPU operator's is not used."""


class NvidiaDevicePlugin(ChartComponent):
    """NVIDIA device plugin by itself, where the GPU operator is not used."""


class DraDriver(ChartComponent):
    """NVIDIA DRA driver: compute domains, and GPUs by resource claims."""

    compute_domains: bool = True
    """Channels of NVLink across nodes, for pods that claim them."""
    gpus: bool = False
    """GPUs too, in place of the device plugin; needs Kubernetes 1.36, which answers requests for nvidia.com/gpu so."""
