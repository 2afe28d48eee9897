"""Who brings what GPUs need on a node, by duty: the image, a component, or the cluster as it is.

The checks and the plan go by the same table. Sources: Amazon EKS user guide on its
accelerated images, values of the charts.
"""

from collections.abc import Iterator, Mapping
from typing import Literal

from mlcluster.catalog.gpus import Gpu, gpu
from mlcluster.catalog.instances import instance_type
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.components.gpu import Operand
from mlcluster.spec.pools import NodePool

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
"""Not on `eks`: it was there before us, since nothing in the spec brings it."""

_IMAGES: Mapping[str, frozenset[Duty]] = {
    "al2023": frozenset({"driver", "toolkit"}),
    "bottlerocket": frozenset({"driver", "toolkit", "devicePlugin", "migManager"}),
    "al2": frozenset(),
}
_NEEDED: tuple[Duty, ...] = ("driver", "toolkit", "devicePlugin")


def gpus_of(pool: NodePool) -> tuple[str, int, int | None]:
    """Model, number and memory (MiB, None when unknown) of the NVIDIA GPUs of one node; ("", 0, None) without."""
    if pool.node_shape is not None:
        shape = pool.node_shape.gpu
        return (shape.model, shape.count, shape.memory_mib) if shape else ("", 0, None)
    try:
        facts = instance_type(pool.instance_type or "")
    except KeyError:
        return "", 0, None
    if facts.accelerator_manufacturer != "nvidia" or not facts.accelerator_count:
        return "", 0, None
    return facts.accelerator, facts.accelerator_count, facts.accelerator_memory_mib


def known_gpu(pool: NodePool) -> Gpu | None:
    """What the catalogue knows of the pool's GPUs."""
    model, _, memory_mib = gpus_of(pool)
    return gpu(model, memory_mib)


def can_be_partitioned(pool: NodePool) -> bool:
    """Whether MIG layouts of the GPUs are known; of those of P6e-GB200, whose driver mode has no MIG, none are."""
    known = known_gpu(pool)
    return known is not None and bool(known.mig_layouts)


def image_duties(pool: NodePool, target: str) -> frozenset[Duty]:
    """What the nodes have when they start: of EKS images the table says, of others the spec."""
    return _IMAGES[pool.ami.family] if target == "eks" else frozenset(pool.gpu.image_brings)


def operator_wanted(spec: ClusterSpec) -> bool:
    """Whether the GPU operator belongs to the cluster: asked for, or on `eks` unless the plugin is asked for alone."""
    return _operator_for_gpus(spec) and (
        spec.components.gpu_operator is not None or any(gpus_of(pool)[1] for pool in spec.node_pools)
    )


def _operator_for_gpus(spec: ClusterSpec) -> bool:
    """The same for a cluster that has GPUs."""
    components = spec.components
    by_default = spec.target.kind == "eks" and components.nvidia_device_plugin is None
    return components.gpu_operator is not None or by_default


def owners(spec: ClusterSpec, pool: NodePool) -> dict[Duty, tuple[str, ...]]:
    """Everybody who would do each duty on a pool with GPUs: one is right, none is nobody, two are a conflict.

    What the image has nobody else brings. The GPU operator leaves to others what they are asked to do, unless it is
    asked for by name itself.

    Returns:
        `IMAGE`, `CLUSTER` or names of components (the catalogue's), in the order of `DUTIES`.
    """
    image = image_duties(pool, spec.target.kind)
    found: dict[Duty, list[str]] = {duty: [IMAGE] if duty in image else [] for duty in DUTIES}
    for name, duty in _others(spec):
        # The device plugin by itself stays off nodes that have one; the DRA driver is on every node with GPUs.
        if not (found[duty] == [IMAGE] and name == "nvidia-device-plugin"):
            found[duty].append(name)
    if _operator_for_gpus(spec):
        for duty in _offered(spec, pool):
            yields = spec.components.gpu_operator is None or IMAGE in found[duty] or duty == "nodeFeatureDiscovery"
            if not (found[duty] and yields):
                found[duty].append("gpu-operator")
    if spec.target.kind != "eks":
        for duty in _taken_to_be_there(spec, pool):
            found[duty] = found[duty] or [CLUSTER]
    # The engine is inside the exporter.
    found["dcgm"] = found["dcgmExporter"]
    return {duty: tuple(names) for duty, names in found.items()}


def _taken_to_be_there(spec: ClusterSpec, pool: NodePool) -> Iterator[Duty]:
    """What a cluster that was there before us does where nobody is asked to, or the operator is told to leave it."""
    yield from _NEEDED
    if pool.gpu.partitioned:
        yield "migManager"
    if spec.components.gpu_operator is not None:
        yield from spec.components.gpu_operator.without


def _others(spec: ClusterSpec) -> Iterator[tuple[str, Duty]]:
    """(component, duty) of every component that does one by itself."""
    components = spec.components
    if components.nvidia_device_plugin is not None:
        yield "nvidia-device-plugin", "devicePlugin"
    if components.dra_driver is not None and components.dra_driver.gpus:
        yield "dra-driver-nvidia-gpu", "devicePlugin"
    if components.dcgm_exporter is not None:
        yield "dcgm-exporter", "dcgmExporter"
    if components.network_operator is not None:
        yield "network-operator", "nodeFeatureDiscovery"


def _offered(spec: ClusterSpec, pool: NodePool) -> Iterator[Duty]:
    """What the GPU operator would do on a pool."""
    operator = spec.components.gpu_operator
    without = operator.without if operator is not None else []
    for duty in DUTIES:
        if duty not in {"dcgm", *without} and (duty != "migManager" or can_be_partitioned(pool)):
            yield duty
