"""Node pools of the plan: the resolved pools of the spec with their labels, taints and prices."""

from mlcluster.catalog.gpus import GPU_RESOURCE, accelerator_label
from mlcluster.catalog.instances import PRICE_DATE, PRICE_REGION
from mlcluster.plan import names
from mlcluster.plan.model import Accelerator, Pool, Price
from mlcluster.plan.taints import pool_taints
from mlcluster.quantities import subtract
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.resolved_pools import ResolvedPool

EKS_ACCELERATOR_LABEL = "k8s.amazonaws.com/accelerator"
EFA_LABEL = f"{names.DOMAIN}/efa"


def plan_pools(spec: ClusterSpec) -> tuple[Pool, ...]:
    """Return every pool of the spec, in its order, before daemon sets take their share (`plan.overhead`).

    Args:
        spec: a spec without problems, so that the catalog knows its instance types and MIG layouts.
    """
    return tuple(_pool(pool) for pool in spec.resolved_pools)


def _pool(resolved: ResolvedPool) -> Pool:
    pool = resolved.entry
    accelerator = _accelerator(resolved)
    allocatable, reserved = resolved.allocatable, resolved.reserved
    usable = subtract(allocatable, reserved)
    selector = {names.POOL: pool.name} if pool.selector is None else dict(pool.selector)
    eks = eks_labels(resolved, accelerator) if resolved.spec.target.kind == "eks" else {}
    system = {names.SYSTEM_ONLY: "true"} if pool.system_only and pool.selector is None else {}
    return Pool(
        name=pool.name,
        instance_type=pool.instance_type or "",
        arch=resolved.instance.arch if resolved.instance else "",
        min_size=pool.min_size,
        max_size=pool.max_size,
        labels={**selector, **eks, **system, **dict(sorted(pool.labels.items()))},
        selector=selector,
        taints=pool_taints(resolved.spec, pool, accelerators=accelerator is not None),
        allocatable=allocatable,
        overhead=reserved,
        reserved=reserved,
        usable=usable,
        system_only=pool.system_only,
        node_share=usable,
        accelerator=accelerator,
        capacity_type=pool.capacity.type,
        placement_group=pool.network.placement_group,
        price=_price(resolved),
        spec_path=("nodePools", resolved.index),
        also=tuple(pool.capacity.also),
        reservation_id=pool.capacity.reservation_id or "",
        starts_at=pool.capacity.starts_at or "",
        ends_at=pool.capacity.ends_at or "",
    )


def _accelerator(pool: ResolvedPool) -> Accelerator | None:
    gpus, shares = pool.gpus, pool.gpu_resources
    if not gpus.number:
        return None
    slices = sum(shares.values())
    return Accelerator(gpus.model, gpus.number, gpus.memory_mib, next(iter(shares)), slices, pool.sharing, shares)


def eks_labels(pool: ResolvedPool, accelerator: Accelerator | None) -> dict[str, str]:
    """Return the labels of the nodes of an `eks` pool that follow from their devices."""
    found: dict[str, str] = {}
    if accelerator is not None and accelerator.resource == GPU_RESOURCE:
        # On nodes with this label, the Cluster Autoscaler waits for nvidia.com/gpu. It would wait forever on nodes
        # that offer MIG instances by size.
        found[EKS_ACCELERATOR_LABEL] = accelerator_label(accelerator.model)
    if pool.entry.network.efa:
        found[EFA_LABEL] = "true"
    return found


def _price(pool: ResolvedPool) -> Price | None:
    shape, target = pool.entry.node_shape, pool.spec.target
    if shape is not None:
        return None if shape.hourly_usd is None else Price(shape.hourly_usd, "", "", exact=True)
    if pool.instance is None or pool.instance.usd_per_hour is None:
        return None
    exact = target.kind == "eks" and target.region == PRICE_REGION and pool.entry.capacity.type == "onDemand"
    return Price(pool.instance.usd_per_hour, PRICE_REGION, PRICE_DATE, exact)
