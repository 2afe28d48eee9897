"""The simulated nodes of the `local` target: one Node object per node of every pool at its maximum size.

They carry what real ones would: labels, taints, resources, instance type, zone, and the place in the network fabric
that topology-aware scheduling reads. kwok (label `type: kwok`) keeps them Ready.
"""

from mlcluster.catalog.gpus import gpu
from mlcluster.plan import names
from mlcluster.plan.model import Manifest, PlanResource, Pool
from mlcluster.plan.quantities import canonical
from mlcluster.spec.targets import LocalTarget

NODE_TYPE = "kubernetes:core/v1:Node"
REGION = "local"
NODES_PER_RACK = 4
RACKS_PER_BLOCK = 4


def simulated_nodes(cluster: str, target: LocalTarget, pools: tuple[Pool, ...]) -> tuple[PlanResource, ...]:
    """Every node of every pool; pools with EFA or a placement group stand in one zone, others are spread."""
    return tuple(_node(cluster, pool, index, target.zones) for pool in pools for index in range(pool.max_size))


def _node(cluster: str, pool: Pool, index: int, zones: list[str]) -> PlanResource:
    name = f"{pool.name}-{index}"
    one_zone = names.EFA_RESOURCE in pool.allocatable or pool.placement_group == "cluster"
    zone = zones[0] if one_zone else zones[index % len(zones)]
    amounts = {resource: canonical(resource, amount) for resource, amount in pool.allocatable.items()}
    spec: Manifest = {}
    if pool.taints:
        spec["taints"] = [{"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in pool.taints]
    return PlanResource(
        id=f"Node/{name}",
        type=NODE_TYPE,
        inputs={
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": _labels(cluster, pool, name, index, zone)},
            **({"spec": spec} if spec else {}),
            "status": {"capacity": amounts, "allocatable": amounts},
        },
        needs=(),
        spec_path=pool.spec_path,
    )


def _labels(cluster: str, pool: Pool, name: str, index: int, zone: str) -> dict[str, str]:
    rack = index // NODES_PER_RACK
    arch = pool.arch or "amd64"
    return {
        **names.owned(cluster),
        "type": "kwok",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": arch,
        "beta.kubernetes.io/os": "linux",
        "beta.kubernetes.io/arch": arch,
        **({"node.kubernetes.io/instance-type": pool.instance_type} if pool.instance_type else {}),
        "topology.kubernetes.io/region": REGION,
        "topology.kubernetes.io/zone": zone,
        f"{names.DOMAIN}/block": f"{pool.name}-b{rack // RACKS_PER_BLOCK}",
        f"{names.DOMAIN}/rack": f"{pool.name}-r{rack}",
        **_gpu_labels(pool),
        **pool.labels,
    }


def _gpu_labels(pool: Pool) -> dict[str, str]:
    """What GPU feature discovery would write."""
    device = pool.accelerator
    if device is None:
        return {}
    known = gpu(device.model, device.memory_mib)
    return {
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.count": str(device.gpus),
        **({"nvidia.com/gpu.memory": str(device.memory_mib)} if device.memory_mib else {}),
        **({"nvidia.com/gpu.product": known.product_label} if known and known.product_label else {}),
    }
