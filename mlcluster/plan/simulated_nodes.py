"""The simulated nodes of the `local` target: one Node object per node of every pool at its maximum size.

They carry what real ones would: labels, taints, resources, instance type, zone, and the place in the network fabric
that topology-aware scheduling reads. kwok (label `type: kwok`) keeps them Ready.

What components would do to a node is simulated too, and done before the node is there: GPU feature discovery's labels,
the resources that the device plugin would announce for whole GPUs, MIG instances, time slices and MPS, and the MIG
manager's success. No component of GPUs runs in the lab, whether the spec asks for it or not.
"""

from mlcluster.catalog.gpus import Gpu, gpu, mig_resource
from mlcluster.catalog.networks import EFA_RESOURCE
from mlcluster.plan import names
from mlcluster.plan.model import Accelerator, ItemRef, Manifest, PlanResource, Pool
from mlcluster.plan.taints import taint_manifest
from mlcluster.quantities import canonical
from mlcluster.spec.targets import LocalTarget

NODE_TYPE = "kubernetes:core/v1:Node"
REGION = "local"
NODES_PER_RACK = 4
RACKS_PER_BLOCK = 4


def simulated_nodes(cluster: str, target: LocalTarget, pools: tuple[Pool, ...]) -> tuple[PlanResource, ...]:
    """Return every node of every pool. Pools with EFA or a placement group are in one zone, others are spread."""
    return tuple(_node(cluster, pool, index, target.zones) for pool in pools for index in range(pool.max_size))


def _node(cluster: str, pool: Pool, index: int, zones: list[str]) -> PlanResource:
    name = f"{pool.name}-{index}"
    one_zone = EFA_RESOURCE in pool.allocatable or pool.placement_group == "cluster"
    zone = zones[0] if one_zone else zones[index % len(zones)]
    amounts = {resource: canonical(resource, amount) for resource, amount in pool.allocatable.items()}
    spec: Manifest = {}
    if pool.taints:
        spec["taints"] = [taint_manifest(taint, empty_value=True) for taint in pool.taints]
    return PlanResource(
        id=ItemRef("Node", name).id,
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
        pool=pool.name,
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
    """Return the labels that GPU feature discovery and the MIG manager would set."""
    device = pool.accelerator
    if device is None:
        return {}
    known = gpu(device.model, device.memory_mib)
    product = known.product_label if known and known.product_label else ""
    return {
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.count": str(device.gpus),
        **({"nvidia.com/gpu.memory": str(device.memory_mib)} if device.memory_mib else {}),
        **({"nvidia.com/gpu.product": product} if product else {}),
        **_sharing_labels(device, product),
        **({"nvidia.com/mig.capable": str(bool(known.mig_layouts)).lower()} if known else {}),
        **(_mig_labels(device, known, product) if known and device.sharing == "mig" else {}),
    }


def _sharing_labels(device: Accelerator, product: str) -> dict[str, str]:
    strategies = {"timeSlicing": "time-slicing", "mps": "mps"}
    strategy = strategies.get(device.sharing, "none")
    shared = strategy != "none"
    return {
        "nvidia.com/gpu.replicas": str(device.slices // device.gpus if shared else 1),
        "nvidia.com/gpu.sharing-strategy": strategy,
        **({"nvidia.com/gpu.product": f"{product}-SHARED"} if shared and product else {}),
        **({"nvidia.com/mps.capable": "true"} if strategy == "mps" else {}),
    }


def _mig_labels(device: Accelerator, known: Gpu, product: str) -> dict[str, str]:
    """Return the labels of MIG instances: the strategy "single" calls them GPUs, "mixed" labels each profile."""
    state = {"nvidia.com/mig.config.state": "success"}
    if "nvidia.com/gpu" in device.shares:
        return {**state, "nvidia.com/mig.strategy": "single", "nvidia.com/gpu.count": str(device.slices)}
    found = {**state, "nvidia.com/mig.strategy": "mixed"}
    for name, layout in known.mig_layouts.items():
        if {mig_resource(profile): count * device.gpus for profile, count in layout.items()} == device.shares:
            found["nvidia.com/mig.config"] = name
    for resource, count in device.shares.items():
        found[f"{resource}.count"] = str(count)
        if product:
            found[f"{resource}.product"] = f"{product}-MIG-{resource.partition('mig-')[2]}"
    return found
