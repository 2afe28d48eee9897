"""What one node of an `eks` pool offers to pods: the checks and the plan count with the same figures.

Sources: awslabs/amazon-eks-ami nodeadm/internal/kubelet/config.go (eviction at 10 % of the node's file system, 1 GiB of
it for the kubelet, 11 MiB of memory per pod), Amazon EKS user guide "Assign more IP addresses to nodes with prefixes"
(Nitro only).
"""

from mlcluster.catalog.instances import InstanceType, instance_names, instance_type
from mlcluster.catalog.networks import max_pods
from mlcluster.spec.eks import EksTarget
from mlcluster.spec.pools import NodePool

HUGEPAGE_MIB = 2
DEFAULT_ROOT_MIB = 100 * 1024
"""The default of `rootVolume.size`."""

EFA_HUGEPAGES = 5128
"""Pages of 2 MiB that the EFA driver sets aside on the accelerated images."""

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
    """The maxPods that the kubelet gets: what prefixes give addresses to, at most what EKS recommends."""
    if instance.name.partition(".")[0] in _NOT_NITRO:
        return min(instance.allocatable_pods, max_pods(instance.vcpu))
    return max_pods(instance.vcpu, instance.allocatable_pods)


def hugepages(pool: NodePool) -> int:
    """Pages of 2 MiB that the node sets aside: what the spec says, else what EFA needs."""
    if pool.hugepages_2mi:
        return pool.hugepages_2mi
    return EFA_HUGEPAGES if pool.network.efa else 0


def eks_allocatable(
    pool: NodePool, instance: InstanceType, *, root_mib: int, pods: int | None = None
) -> dict[str, int]:
    """What pods can use of one node, without accelerators and EFA.

    Args:
        instance: the type, which need not be the pool's own.
        root_mib: size of the root volume.
        pods: the pool's maxPods, where it is not this type's.

    Returns:
        By Kubernetes' names: cpu in milli-CPU, memory, ephemeral-storage and hugepages-2Mi in MiB, pods.
    """
    most = pods_per_node(instance) if pods is None else pods
    # nodeadm keeps back memory for the pods that the type has without prefixes, Bottlerocket for maxPods: the worse.
    more_pods = max(0, most - instance.allocatable_pods)
    huge = hugepages(pool) * HUGEPAGE_MIB
    amounts = {
        "cpu": instance.allocatable_cpu_milli,
        "memory": max(0, instance.allocatable_memory_mib - _KUBE_RESERVED_MIB_PER_POD * more_pods - huge),
        "ephemeral-storage": _ephemeral_mib(instance, root_mib),
        "pods": most,
    }
    return {**amounts, "hugepages-2Mi": huge} if huge else amounts


def default_disk_mib(instance: InstanceType) -> int:
    """What pods can use of the disk of a node that is made without saying how large it is: the lab's nodes."""
    return _ephemeral_mib(instance, DEFAULT_ROOT_MIB)


def _ephemeral_mib(instance: InstanceType, root_mib: int) -> int:
    """What is left of the file system that kubelet and containerd use: the instance store if there is one."""
    store_mib = instance.local_nvme_gb * 10**9 // 2**20
    # The file system's own needs: 2 % of a RAID, 1 % of a volume that also holds the boot partitions.
    capacity = store_mib * 98 // 100 if store_mib else root_mib * 99 // 100
    return max(0, capacity * 9 // 10 - 1024)


def bottlerocket_mig_key(model: str, memory_mib: int | None) -> str:
    """What Bottlerocket's MIG manager calls a GPU, e.g. a100.40gb; "" for one that it does not partition.

    Source: bottlerocket-core-kit sources/nvidia-migmanager. It has no layout of 4g instances, and takes one that it
    does not know for 7g.
    """
    return _BOTTLEROCKET_MIG.get((model, memory_mib or 0), "")


def provisioned(pool: NodePool, target: EksTarget) -> bool:
    """Whether Karpenter makes the pool's nodes; without accelerators a pool of fixed size is a managed node group."""
    if target.autoscaler != "karpenter":
        return False
    return pool.min_size != pool.max_size or _has_accelerator(pool)


def _has_accelerator(pool: NodePool) -> bool:
    return bool(pool.instance_type in instance_names() and instance_type(pool.instance_type or "").accelerator_count)
