"""Facts about the nodes of a pool from the catalog or the spec, in the units of the checks."""

from collections.abc import Mapping
from dataclasses import dataclass

from mlcluster.catalog.gpus import gpu
from mlcluster.catalog.instances import InstanceType, instance_type
from mlcluster.quantities import parse
from mlcluster.spec.eks_nodes import default_disk_mib, eks_allocatable
from mlcluster.spec.node_shapes import NodeShape
from mlcluster.spec.pools import NodePool


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """Facts about a node of a pool.

    Attributes:
        gpu_model: the GPU model; "" without GPUs.
        gpus: the number of GPUs.
        gpu_memory_mib: the memory of one GPU; None if it is unknown.
        mig_layouts: layout -> profile -> instances on one GPU; empty if the GPU does not support MIG.
        slices_per_gpu: the number of slices that pods can request of one GPU; 1 for whole GPUs.
        efa: the number of EFA interfaces.
        allocatable: cpu in milli-CPU, memory and ephemeralStorage in MiB, pods; by the fields of the spec.
    """

    gpu_model: str
    gpus: int
    gpu_memory_mib: int | None
    mig_layouts: Mapping[str, Mapping[str, int]]
    slices_per_gpu: int
    efa: int
    allocatable: Mapping[str, int]


def known_instance(name: str) -> InstanceType | None:
    """Return the instance type of the catalog; None if it is unknown."""
    try:
        return instance_type(name)
    except KeyError:
        return None


def node_facts(pool: NodePool, *, target: str = "") -> NodeFacts | None:
    """Return the facts of a node; None if the pool has neither a known instance type nor a shape.

    Args:
        pool: the pool.
        target: the kind of the target. On `eks`, the pool sets the pods, volumes and huge pages of a node; on `local`,
            a node has the disk of an EKS node of its type; existing nodes have the resources of the catalog.
    """
    if pool.node_shape is not None:
        return _of_shape(pool, pool.node_shape)
    instance = known_instance(pool.instance_type) if pool.instance_type else None
    if instance is None:
        return None
    memory = instance.accelerator_memory_mib
    is_gpu = instance.accelerator_manufacturer == "nvidia" and instance.accelerator_count > 0
    layouts = _layouts(instance.accelerator, memory) if is_gpu else {}
    return NodeFacts(
        gpu_model=instance.accelerator if is_gpu else "",
        gpus=instance.accelerator_count if is_gpu else 0,
        gpu_memory_mib=memory if is_gpu else None,
        mig_layouts=layouts,
        slices_per_gpu=_slices(pool, layouts),
        efa=instance.efa,
        allocatable=_allocatable(pool, instance, target),
    )


def _catalogued(instance: InstanceType) -> dict[str, int]:
    return {
        "cpu": instance.allocatable_cpu_milli,
        "memory": instance.allocatable_memory_mib,
        "ephemeralStorage": instance.allocatable_ephemeral_mib,
        "pods": instance.allocatable_pods,
    }


def _allocatable(pool: NodePool, instance: InstanceType, target: str) -> dict[str, int]:
    if target == "eks":
        return _eks_allocatable(pool, instance)
    amounts = _catalogued(instance)
    return {**amounts, "ephemeralStorage": default_disk_mib(instance)} if target == "local" else amounts


def _eks_allocatable(pool: NodePool, instance: InstanceType) -> dict[str, int]:
    found = eks_allocatable(pool, instance, root_mib=parse("ephemeral-storage", pool.root_volume.size))
    keys = {"ephemeral-storage": "ephemeralStorage"}
    return {keys.get(name, name): amount for name, amount in found.items()}


def _of_shape(pool: NodePool, shape: NodeShape) -> NodeFacts:
    found = shape.gpu
    layouts = _layouts(found.model, found.memory_mib) if found else {}
    return NodeFacts(
        gpu_model=found.model if found else "",
        gpus=found.count if found else 0,
        gpu_memory_mib=found.memory_mib if found else None,
        mig_layouts=layouts,
        slices_per_gpu=_slices(pool, layouts),
        efa=0,
        allocatable={
            "cpu": parse("cpu", shape.cpu),
            "memory": parse("memory", shape.memory),
            "ephemeralStorage": parse("ephemeral-storage", shape.ephemeral_storage),
            "pods": shape.pods,
        },
    )


def _layouts(model: str, memory_mib: int | None) -> Mapping[str, Mapping[str, int]]:
    known = gpu(model, memory_mib)
    return known.mig_layouts if known else {}


def _slices(pool: NodePool, layouts: Mapping[str, Mapping[str, int]]) -> int:
    if pool.gpu.mig is not None and pool.gpu.partitioned:
        return sum(layouts.get(pool.gpu.mig, {}).values()) or 1
    return pool.gpu.replicas
