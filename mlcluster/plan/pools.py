"""Node pools with their instance facts resolved."""

from typing import Literal

from mlcluster.catalog.gpus import GPU_RESOURCE, accelerator_label, gpu, mig_resource
from mlcluster.catalog.instances import PRICE_DATE, PRICE_REGION, instance_type
from mlcluster.catalog.networks import EFA_RESOURCE
from mlcluster.plan import names
from mlcluster.plan.model import Accelerator, Pool, Price
from mlcluster.plan.taints import pool_taints
from mlcluster.quantities import ordered, parse, subtract
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.eks_nodes import default_disk_mib, eks_allocatable
from mlcluster.spec.gpu_duties import gpus_of
from mlcluster.spec.node_shapes import NodeShape
from mlcluster.spec.pools import NodePool

EKS_ACCELERATOR_LABEL = "k8s.amazonaws.com/accelerator"
EFA_LABEL = f"{names.DOMAIN}/efa"
Sharing = Literal["whole", "mig", "timeSlicing", "mps"]


def resolve_pools(spec: ClusterSpec) -> tuple[Pool, ...]:
    """Every pool of the spec, in its order, before daemon sets take their share (`plan.overhead`).

    Args:
        spec: a checked spec: instance types and MIG profiles are known to the catalogue.
    """
    return tuple(_pool(spec, index, pool) for index, pool in enumerate(spec.node_pools))


def _pool(spec: ClusterSpec, index: int, pool: NodePool) -> Pool:
    on_eks = spec.target.kind == "eks"
    accelerator = _accelerator(spec, pool)
    allocatable = _allocatable(pool, accelerator, spec.target.kind)
    reserved = {name: amount for name, amount in _reserved(pool).items() if amount}
    own = {names.POOL: pool.name} if pool.selector is None else dict(pool.selector)
    ours = eks_labels(pool, accelerator) if on_eks else {}
    kept = {names.SYSTEM_ONLY: "true"} if pool.system_only and pool.selector is None else {}
    return Pool(
        name=pool.name,
        instance_type=pool.instance_type or "",
        arch=instance_type(pool.instance_type).arch if pool.instance_type else "",
        min_size=pool.min_size,
        max_size=pool.max_size,
        labels={**own, **ours, **kept, **dict(sorted(pool.labels.items()))},
        selector=own,
        taints=pool_taints(spec, pool, accelerators=accelerator is not None),
        allocatable=allocatable,
        overhead=reserved,
        reserved=reserved,
        usable=subtract(allocatable, reserved),
        system_only=pool.system_only,
        node_share=subtract(allocatable, reserved),
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


def _accelerator(spec: ClusterSpec, pool: NodePool) -> Accelerator | None:
    model, count, memory_mib = gpus_of(pool)
    if not count:
        return None
    sharing, shares = _shares(spec, pool)
    offered = {name: per_gpu * count for name, per_gpu in shares.items()}
    return Accelerator(model, count, memory_mib, next(iter(offered)), sum(offered.values()), sharing, offered)


def _shares(spec: ClusterSpec, pool: NodePool) -> tuple[Sharing, dict[str, int]]:
    """How a GPU of the pool is shared -> what pods can request of one GPU."""
    if pool.gpu.mig is not None and pool.gpu.partitioned:
        model, _, memory_mib = gpus_of(pool)
        known = gpu(model, memory_mib)
        layout = known.mig_layouts[pool.gpu.mig] if known else {}
        if mig_strategy(spec, pool) == "single":
            return "mig", {GPU_RESOURCE: sum(layout.values())}
        return "mig", {mig_resource(profile): amount for profile, amount in layout.items()}
    if pool.gpu.replicas > 1:
        return "timeSlicing" if pool.gpu.time_slicing else "mps", {GPU_RESOURCE: pool.gpu.replicas}
    return "whole", {GPU_RESOURCE: 1}


def mig_strategy(spec: ClusterSpec, pool: NodePool) -> Literal["single", "mixed"]:
    """How the device plugin of a pool calls MIG instances: each a GPU, or by their size."""
    if spec.target.kind == "eks" and pool.ami.family == "bottlerocket":
        return "single"  # Bottlerocket's own plugin knows nothing else
    operator = spec.components.gpu_operator
    return operator.mig_strategy if operator is not None else "mixed"


def _allocatable(pool: NodePool, accelerator: Accelerator | None, target: str) -> dict[str, int]:
    if pool.node_shape:
        amounts = _of_shape(pool.node_shape)
    elif target == "eks":
        root_mib = parse("ephemeral-storage", pool.root_volume.size)
        amounts = eks_allocatable(pool, instance_type(pool.instance_type or ""), root_mib=root_mib)
    else:
        amounts = _of_instance(pool.instance_type or "")
        if target == "local":  # simulated nodes have the disk of EKS nodes; of others only the smallest is certain
            amounts["ephemeral-storage"] = default_disk_mib(instance_type(pool.instance_type or ""))
    if accelerator is not None:
        amounts.update(accelerator.shares)
    if pool.network.efa and pool.instance_type:
        amounts[EFA_RESOURCE] = instance_type(pool.instance_type).efa
    amounts.update(pool.network.rdma)
    amounts.update(pool.network.sriov)
    return {name: amounts[name] for name in ordered(amounts)}


def eks_labels(pool: NodePool, accelerator: Accelerator | None) -> dict[str, str]:
    """Labels that the nodes of an `eks` pool carry because of what they are."""
    found: dict[str, str] = {}
    if accelerator is not None and accelerator.resource == GPU_RESOURCE:
        # The Cluster Autoscaler waits for nvidia.com/gpu on nodes with this label, whatever its value: for ever on
        # nodes that offer MIG instances by their size.
        found[EKS_ACCELERATOR_LABEL] = accelerator_label(accelerator.model)
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


def _price(spec: ClusterSpec, pool: NodePool) -> Price | None:
    if pool.node_shape is not None:
        known = pool.node_shape.hourly_usd
        return None if known is None else Price(known, "", "", exact=True)
    usd = instance_type(pool.instance_type or "").usd_per_hour
    if usd is None:
        return None
    exact = spec.target.kind == "eks" and spec.target.region == PRICE_REGION and pool.capacity.type == "onDemand"
    return Price(usd, PRICE_REGION, PRICE_DATE, exact)
