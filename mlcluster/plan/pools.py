"""Node pools with their instance facts resolved."""

from mlcluster.catalog.gpus import accelerator_label, gpu
from mlcluster.catalog.instances import PRICE_DATE, PRICE_REGION, instance_type
from mlcluster.plan import names
from mlcluster.plan.model import Accelerator, Pool, Price, Taint
from mlcluster.plan.quantities import ordered, parse, subtract
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.eks_nodes import eks_allocatable
from mlcluster.spec.pools import NodePool, NodeShape

GPU_RESOURCE = "nvidia.com/gpu"
EKS_ACCELERATOR_LABEL = "k8s.amazonaws.com/accelerator"
EFA_LABEL = f"{names.DOMAIN}/efa"
MIG_LABEL = "nvidia.com/mig.config"
"""What the GPU operator's MIG manager makes of the GPUs; Bottlerocket has it in its settings."""


def resolve_pools(spec: ClusterSpec) -> tuple[Pool, ...]:
    """Every pool of the spec, in its order, before daemon sets take their share (`plan.overhead`).

    Args:
        spec: a checked spec: instance types and MIG profiles are known to the catalogue.
    """
    return tuple(_pool(spec, index, pool) for index, pool in enumerate(spec.node_pools))


def _pool(spec: ClusterSpec, index: int, pool: NodePool) -> Pool:
    on_eks = spec.target.kind == "eks"
    accelerator = _accelerator(pool, on_eks=on_eks)
    allocatable = _allocatable(pool, accelerator, on_eks=on_eks)
    overhead = _reserved(pool)
    own = {names.POOL: pool.name} if pool.selector is None else dict(pool.selector)
    ours = eks_labels(pool, accelerator) if on_eks else {}
    return Pool(
        name=pool.name,
        instance_type=pool.instance_type or "",
        arch=instance_type(pool.instance_type).arch if pool.instance_type else "",
        min_size=pool.min_size,
        max_size=pool.max_size,
        labels={**own, **ours, **dict(sorted(pool.labels.items()))},
        selector=own,
        taints=_taints(spec, pool, accelerator),
        allocatable=allocatable,
        overhead={name: amount for name, amount in overhead.items() if amount},
        usable=subtract(allocatable, overhead),
        accelerator=accelerator,
        capacity_type=pool.capacity.type,
        placement_group=pool.network.placement_group,
        price=_price(spec, pool),
        spec_path=f"nodePools[{index}]",
        also=tuple(pool.capacity.also),
        reservation_id=pool.capacity.reservation_id or "",
        starts_at=pool.capacity.starts_at or "",
        ends_at=pool.capacity.ends_at or "",
    )


def _accelerator(pool: NodePool, *, on_eks: bool) -> Accelerator | None:
    if pool.node_shape is not None:
        shape = pool.node_shape.gpu
        facts = (shape.model, shape.count, shape.memory_mib) if shape else ("", 0, None)
    else:
        instance = instance_type(pool.instance_type or "")
        facts = (instance.accelerator, instance.accelerator_count, instance.accelerator_memory_mib)
    model, count, memory_mib = facts
    if not count:
        return None
    if pool.gpu.mig is not None:
        profile = pool.gpu.mig.removeprefix("all-")
        known = gpu(model, memory_mib)
        per_gpu = known.mig_profiles[profile] if known else 0
        # Bottlerocket's device plugin has the MIG strategy "single", which calls every instance a GPU.
        plain = on_eks and pool.ami.family == "bottlerocket"
        resource = GPU_RESOURCE if plain else f"nvidia.com/mig-{profile}"
        return Accelerator(model, count, memory_mib, resource, count * per_gpu, "mig")
    if pool.gpu.time_slicing is not None:
        slices = count * pool.gpu.time_slicing.replicas
        return Accelerator(model, count, memory_mib, GPU_RESOURCE, slices, "timeSlicing")
    return Accelerator(model, count, memory_mib, GPU_RESOURCE, count, "whole")


def _allocatable(pool: NodePool, accelerator: Accelerator | None, *, on_eks: bool) -> dict[str, int]:
    if pool.node_shape:
        amounts = _of_shape(pool.node_shape)
    elif on_eks:
        root_mib = parse("ephemeral-storage", pool.root_volume.size)
        amounts = eks_allocatable(pool, instance_type(pool.instance_type or ""), root_mib=root_mib)
    else:
        amounts = _of_instance(pool.instance_type or "")
    if accelerator is not None:
        amounts[accelerator.resource] = accelerator.slices
    if pool.network.efa and pool.instance_type:
        amounts[names.EFA_RESOURCE] = instance_type(pool.instance_type).efa
    amounts.update(pool.network.rdma)
    return {name: amounts[name] for name in ordered(amounts)}


def eks_labels(pool: NodePool, accelerator: Accelerator | None) -> dict[str, str]:
    """Labels that the nodes of an `eks` pool carry because of what they are (components.md 6.1)."""
    found: dict[str, str] = {}
    if accelerator is not None:
        # The Cluster Autoscaler waits for GPUs on nodes with this label; only its presence counts.
        found[EKS_ACCELERATOR_LABEL] = accelerator_label(accelerator.model)
        if pool.gpu.mig is not None and pool.ami.family != "bottlerocket":
            found[MIG_LABEL] = pool.gpu.mig
    if pool.network.efa:
        found[EFA_LABEL] = "true"
    return found


def _of_instance(name: str) -> dict[str, int]:
    facts = instance_type(name)
    return {
        "cpu": facts.allocatable_cpu_milli,
        "memory": facts.allocatable_memory_mib,
        "ephemeral-storage": facts.allocatable_ephemeral_mib,
        "pods": facts.allocatable_pods,
    }


def _of_shape(shape: NodeShape) -> dict[str, int]:
    return {
        "cpu": parse("cpu", shape.cpu),
        "memory": parse("memory", shape.memory),
        "ephemeral-storage": parse("ephemeral-storage", shape.ephemeral_storage),
        "pods": shape.pods,
    }


def _reserved(pool: NodePool) -> dict[str, int]:
    return {
        "cpu": parse("cpu", pool.reserved.cpu),
        "memory": parse("memory", pool.reserved.memory),
        "ephemeral-storage": parse("ephemeral-storage", pool.reserved.ephemeral_storage),
        "pods": pool.reserved.pods,
    }


def _taints(spec: ClusterSpec, pool: NodePool, accelerator: Accelerator | None) -> tuple[Taint, ...]:
    given = tuple(Taint(taint.key, taint.value, taint.effect) for taint in pool.taints)
    ours_to_set = spec.target.kind != "existing"
    if accelerator is None or not pool.gpu.taint or not ours_to_set:
        return given
    return (*given, Taint(names.ACCELERATOR_TAINT, "present", "NoSchedule"))


def _price(spec: ClusterSpec, pool: NodePool) -> Price | None:
    if pool.node_shape is not None:
        known = pool.node_shape.hourly_usd
        return None if known is None else Price(known, "", "", exact=True)
    usd = instance_type(pool.instance_type or "").usd_per_hour
    if usd is None:
        return None
    exact = spec.target.kind == "eks" and spec.target.region == PRICE_REGION and pool.capacity.type == "onDemand"
    return Price(usd, PRICE_REGION, PRICE_DATE, exact)
