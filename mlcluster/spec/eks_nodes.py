"""Allocatable resources of the nodes of `eks` pools, for the checks and the plan.

Sources: awslabs/amazon-eks-ami nodeadm/internal/kubelet/config.go (eviction at 10 % of the node's file system, 1 GiB of
it for the kubelet, 11 MiB of memory per pod), Amazon EKS user guide "Assign more IP addresses to nodes with prefixes"
(only on Nitro instances).
"""

from mlcluster.catalog.instances import InstanceType
from mlcluster.catalog.networks import max_pods
from mlcluster.spec.pools import NodePool

HUGEPAGE_MIB = 2
DEFAULT_ROOT_MIB = 100 * 1024
"""The default of `rootVolume.size`."""

EFA_HUGEPAGES = 5128
"""The number of 2 MiB pages that the EFA driver allocates on the accelerated images."""

_KUBE_RESERVED_MIB_PER_POD = 11
_NOT_NITRO = frozenset(
    {"c1", "c3", "c4", "d2", "f1", "g2", "g3", "g3s", "h1", "i2", "i3", "m1"}
    | {"m2", "m3", "m4", "p2", "p3", "r3", "r4", "t1", "t2", "x1", "x1e"}
)
_BOTTLEROCKET_MIG = {
    ("a100", 40_960): "a100.40gb",
    ("a100", 81_920): "a100.80gb",
    ("h100", 81_920): "h100.80gb",
    ("h200", 144_384): "h200.141gb",
    ("b200", 183_359): "b200.180gb",
}


def pods_per_node(instance: InstanceType) -> int:
    """Return the maxPods of the kubelet: the pods with addresses from prefixes, at most as EKS recommends."""
    if instance.name.partition(".")[0] in _NOT_NITRO:
        return min(instance.allocatable_pods, max_pods(instance.vcpu))
    return max_pods(instance.vcpu, instance.allocatable_pods)


def hugepages(pool: NodePool) -> int:
    """Return the number of 2 MiB pages that a node allocates: from the spec, otherwise the pages that EFA needs."""
    if pool.hugepages_2mi:
        return pool.hugepages_2mi
    return EFA_HUGEPAGES if pool.network.efa else 0


def eks_allocatable(pool: NodePool, instance: InstanceType, pods: int | None = None) -> dict[str, int]:
    """Return the allocatable resources of a node without its accelerators and EFA interfaces.

    Args:
        pool: the pool.
        instance: the instance type, which can be an alternative type of the pool.
        pods: the maxPods of the pool; None for the maxPods of the instance type.

    Returns:
        By Kubernetes resource name: cpu in milli-CPU; memory, ephemeral-storage and hugepages-2Mi in MiB; pods.
    """
    most = pods_per_node(instance) if pods is None else pods
    # nodeadm reserves memory for the pods of the type without prefixes, Bottlerocket for maxPods. Use the larger one.
    more_pods = max(0, most - instance.allocatable_pods)
    huge = hugepages(pool) * HUGEPAGE_MIB
    amounts = {
        "cpu": instance.allocatable_cpu_milli,
        "memory": max(0, instance.allocatable_memory_mib - _KUBE_RESERVED_MIB_PER_POD * more_pods - huge),
        "ephemeral-storage": _ephemeral_mib(instance, pool.root_volume.size_mib),
        "pods": most,
    }
    return {**amounts, "hugepages-2Mi": huge} if huge else amounts


def default_disk_mib(instance: InstanceType) -> int:
    """Return the allocatable disk of a node with a root volume of default size, as the nodes of the lab have it."""
    return _ephemeral_mib(instance, DEFAULT_ROOT_MIB)


def _ephemeral_mib(instance: InstanceType, root_mib: int) -> int:
    """Return the allocatable part of the file system of the kubelet: of the instance store, or of the root volume."""
    store_mib = instance.local_nvme_gb * 10**9 // 2**20
    # Overhead of the file system: 2 % of a RAID, 1 % of a volume that also has the boot partitions.
    capacity = store_mib * 98 // 100 if store_mib else root_mib * 99 // 100
    return max(0, capacity * 9 // 10 - 1024)


def bottlerocket_mig_key(model: str, memory_mib: int | None) -> str:
    """Return the name of a GPU in Bottlerocket's MIG manager, such as a100.40gb; "" for an unsupported GPU.

    Source: bottlerocket-core-kit sources/nvidia-migmanager. It has no layouts of 4g instances, and handles an unknown
    layout like 7g.
    """
    return _BOTTLEROCKET_MIG.get((model, memory_mib or 0), "")
