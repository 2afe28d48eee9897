"""Providers of the GPU software on a node: the image, a component, or the existing cluster.

A duty is one part of the GPU software, such as the driver or the device plugin. The checks and the plan use the same
functions. Sources: Amazon EKS user guide on its accelerated images, values of the charts.
"""

from collections.abc import Iterator, Mapping
from typing import Literal

from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.components.gpu import Operand
from mlcluster.spec.pools import NodePool
from mlcluster.spec.resolved_pools import ResolvedPool

Duty = Operand | Literal["dcgm", "validator"]
DUTIES: tuple[Duty, ...] = (
    "driver",
    "toolkit",
    "devicePlugin",
    "gpuFeatureDiscovery",
    "nodeFeatureDiscovery",
    "migManager",
    "dcgm",
    "dcgmExporter",
    "validator",
)
IMAGE = "image"
CLUSTER = "cluster"
"""The existing cluster, which provides every duty without another provider. Not on `eks`."""

_IMAGES: Mapping[str, frozenset[Duty]] = {
    "al2023": frozenset({"driver", "toolkit"}),
    "bottlerocket": frozenset({"driver", "toolkit", "devicePlugin", "migManager"}),
    "al2": frozenset(),
}
_NEEDED: tuple[Duty, ...] = ("driver", "toolkit", "devicePlugin")


def image_duties(pool: NodePool, target: str) -> frozenset[Duty]:
    """Return the duties that the image of a pool provides: from the table for EKS images, otherwise from the spec."""
    return _IMAGES[pool.ami.family] if target == "eks" else frozenset(pool.gpu.image_brings)


def operator_wanted(spec: ClusterSpec) -> bool:
    """Return whether the plan needs the GPU operator: from the spec, or by default for GPU pools on `eks`."""
    return _operator_for_gpus(spec) and (
        spec.components.gpu_operator is not None or any(pool.gpus.number for pool in spec.resolved_pools)
    )


def _operator_for_gpus(spec: ClusterSpec) -> bool:
    """Return whether a cluster with GPUs needs the GPU operator."""
    components = spec.components
    by_default = spec.target.kind == "eks" and components.nvidia_device_plugin is None
    return components.gpu_operator is not None or by_default


def owners(pool: ResolvedPool) -> dict[Duty, tuple[str, ...]]:
    """Return the providers of each duty on a GPU pool; several providers of a duty are a conflict.

    A GPU operator that is installed by default yields to the image and to other components. A GPU operator in the spec
    yields only to the image.

    Returns:
        `IMAGE`, `CLUSTER` or the names of components in the catalog, in the order of `DUTIES`.
    """
    spec = pool.spec
    image = image_duties(pool.entry, spec.target.kind)
    found: dict[Duty, list[str]] = {duty: [IMAGE] if duty in image else [] for duty in DUTIES}
    for name, duty in _component_duties(spec):
        # The standalone device plugin skips nodes whose image has one; the DRA driver runs on every GPU node.
        if not (found[duty] == [IMAGE] and name == "nvidia-device-plugin"):
            found[duty].append(name)
    if _operator_for_gpus(spec):
        for duty in _operator_duties(spec, pool):
            yields = spec.components.gpu_operator is None or IMAGE in found[duty] or duty == "nodeFeatureDiscovery"
            if not (found[duty] and yields):
                found[duty].append("gpu-operator")
    if spec.target.kind != "eks":
        for duty in _assumed_on_existing_clusters(spec, pool.entry):
            found[duty] = found[duty] or [CLUSTER]
    # The exporter contains the DCGM engine.
    found["dcgm"] = found["dcgmExporter"]
    return {duty: tuple(names) for duty, names in found.items()}


def _assumed_on_existing_clusters(spec: ClusterSpec, pool: NodePool) -> Iterator[Duty]:
    """Yield the duties that an existing cluster provides without a provider in the spec."""
    yield from _NEEDED
    if pool.gpu.partitioned:
        yield "migManager"
    if spec.components.gpu_operator is not None:
        yield from spec.components.gpu_operator.without


def _component_duties(spec: ClusterSpec) -> Iterator[tuple[str, Duty]]:
    """Yield the name and the duty of each component with a duty, except the GPU operator."""
    components = spec.components
    if components.nvidia_device_plugin is not None:
        yield "nvidia-device-plugin", "devicePlugin"
    if components.dra_driver is not None and components.dra_driver.gpus:
        yield "dra-driver-nvidia-gpu", "devicePlugin"
    if components.dcgm_exporter is not None:
        yield "dcgm-exporter", "dcgmExporter"
    if components.network_operator is not None:
        yield "network-operator", "nodeFeatureDiscovery"


def _operator_duties(spec: ClusterSpec, pool: ResolvedPool) -> Iterator[Duty]:
    """Yield the duties that the GPU operator can provide on a pool."""
    operator = spec.components.gpu_operator
    without = operator.without if operator is not None else []
    for duty in DUTIES:
        if duty not in {"dcgm", *without} and (duty != "migManager" or pool.mig_layouts):
            yield duty
