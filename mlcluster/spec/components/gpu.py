"""GPU components."""

from typing import Annotated, Literal

from pydantic import Field

from mlcluster.spec.base import Doc
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
"""The operands of the GPU operator that can be disabled."""


class GpuOperator(ChartComponent):
    """NVIDIA GPU Operator, which installs the GPU software that the node images do not contain."""

    mig_strategy: Literal["single", "mixed"] = "mixed"
    """Resource names of MIG instances: by size, such as `nvidia.com/mig-1g.5gb` (`mixed`), or `nvidia.com/gpu` for all
    (`single`)."""
    without: Annotated[list[Operand], Field(max_length=7), Doc(example=["dcgmExporter"])] = []
    """Operands to disable on every pool, because another component or tool provides them."""
    gds: bool = False
    """Enable GPUDirect Storage. The GPU operator must install the driver."""
    gdrcopy: bool = False
    """Enable GDRCopy. The GPU operator must install the driver; EKS images already contain GDRCopy."""


class DcgmExporter(ChartComponent):
    """Standalone DCGM exporter, instead of the one of the GPU operator."""


class NvidiaDevicePlugin(ChartComponent):
    """Standalone NVIDIA device plugin, instead of the GPU operator."""


class DraDriver(ChartComponent):
    """NVIDIA DRA driver for compute domains and GPUs. Needs Kubernetes 1.34 or later."""

    compute_domains: bool = True
    """Provide compute domains: Multi-Node NVLink for pods with a resource claim."""
    gpus: bool = False
    """Allocate GPUs through DRA instead of the device plugin. Needs Kubernetes 1.36 or later, where a claim can
    satisfy a request for `nvidia.com/gpu`."""
