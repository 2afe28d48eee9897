"""Checks of images, root volumes, huge pages and GPU sharing of `eks` pools.

Sources: Amazon EBS user guide "General Purpose SSD volumes" (gp3: 500 IOPS per GiB, 0.25 MiB/s per IOPS, 64 TiB);
bottlerocket-core-kit sources/nvidia-migmanager (supported GPUs and layouts).
"""

from collections.abc import Iterator

from mlcluster.catalog.instances import InstanceType
from mlcluster.catalog.networks import why_no_layout
from mlcluster.spec.checks.storage import BASE_IOPS, IOPS_PER_MIB
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.eks import EksTarget
from mlcluster.spec.eks_nodes import HUGEPAGE_MIB, bottlerocket_mig_key, hugepages
from mlcluster.spec.partial_checks import stop_at_unknown_value
from mlcluster.spec.pools import NodePool
from mlcluster.spec.resolved_pools import ResolvedPool

_SMALLEST_GIB = 20
_LARGEST_GIB = 65_536
_IOPS_PER_GIB = 500


def image_problems(here: Loc, resolved: ResolvedPool, target: EksTarget) -> Iterator[Problem]:
    """Yield problems for unsupported images, root volumes that EBS rejects, and sharing that the image cannot do."""
    yield from _family((*here, "ami"), resolved.entry, target)
    yield from _volume((*here, "rootVolume"), resolved.entry)
    yield from _of_instance(here, resolved)


@stop_at_unknown_value
def _of_instance(here: Loc, resolved: ResolvedPool) -> Iterator[Problem]:
    if resolved.instance is not None:
        yield from _driver(here, resolved.entry, resolved.instance)
        yield from _hugepages(here, resolved.entry, resolved.instance)
        yield from _mig((*here, "gpu", "mig"), resolved)
        yield from _mps((*here, "gpu", "mps"), resolved.entry)


@stop_at_unknown_value
def _mps(loc: Loc, pool: NodePool) -> Iterator[Problem]:
    if pool.gpu.mps is not None and pool.ami.family == "bottlerocket":
        message = "the device plugin of Bottlerocket does not support MPS"
        yield Problem(loc, message, "Set `ami: {family: al2023}`, or use `gpu.timeSlicing`", key=True)


@stop_at_unknown_value
def _family(loc: Loc, pool: NodePool, target: EksTarget) -> Iterator[Problem]:
    if pool.ami.family == "al2":
        message = "EKS published the last Amazon Linux 2 image on 2025-11-26"
        yield Problem((*loc, "family"), message, "Use al2023 (the default) or bottlerocket")
    release, minor = pool.ami.release, target.kubernetes_version
    if release is not None and pool.ami.family == "al2023" and not release.startswith(f"{minor}."):
        message = f"expected a release of the AL2023 image for Kubernetes {minor}, got {release}"
        yield Problem((*loc, "release"), message, f"For example {minor}.3-20260818")


@stop_at_unknown_value
def _driver(here: Loc, pool: NodePool, instance: InstanceType) -> Iterator[Problem]:
    if instance.name.startswith("g7."):
        message = f"{instance.name} needs NVIDIA driver 595, but EKS images contain driver 580"
        yield Problem((*here, "instanceType"), message, "Use another instance family, for example g7e or g6e")
    if pool.network.efa and instance.efa and not instance.accelerator_count:
        message = "EFA needs an instance type with GPUs, because only the accelerated EKS images contain the EFA driver"
        yield Problem((*here, "network", "efa"), message, "Remove it, or use an instance type with GPUs")
    elif pool.network.efa and (why := why_no_layout(instance.name)):
        message = f"EFA is not supported on {instance.name}: {why}"
        yield Problem((*here, "network", "efa"), message, "Remove it, or use another instance type")


@stop_at_unknown_value
def _volume(loc: Loc, pool: NodePool) -> Iterator[Problem]:
    volume = pool.root_volume
    gib = volume.size_gib
    if not _SMALLEST_GIB <= gib <= _LARGEST_GIB:
        message = f"expected {_SMALLEST_GIB} to {_LARGEST_GIB:,} GiB, got {gib:,} GiB ({volume.size})"
        yield Problem((*loc, "size"), message, "For example `size: 100Gi`")
        return
    iops = volume.iops or BASE_IOPS
    if iops > max(BASE_IOPS, gib * _IOPS_PER_GIB):
        most = gib * _IOPS_PER_GIB
        message = f"gp3 supports at most {_IOPS_PER_GIB} IOPS per GiB, {most:,} for {gib} GiB; got {iops:,}"
        yield Problem((*loc, "iops"), message, f"Set `size: {-(-iops // _IOPS_PER_GIB)}Gi`, or lower `iops`")
    if volume.throughput_mib is not None and volume.throughput_mib * IOPS_PER_MIB > iops:
        most, needed = iops // IOPS_PER_MIB, volume.throughput_mib * IOPS_PER_MIB
        message = f"gp3 supports at most 0.25 MiB/s per IOPS, {most} for {iops:,} IOPS; got {volume.throughput_mib}"
        yield Problem((*loc, "throughputMib"), message, f"Set `iops: {needed}`, or lower `throughputMib`")


@stop_at_unknown_value
def _hugepages(here: Loc, pool: NodePool, instance: InstanceType) -> Iterator[Problem]:
    mib = hugepages(pool) * HUGEPAGE_MIB
    if mib >= instance.allocatable_memory_mib:
        key = "hugepages2Mi" if pool.hugepages_2mi else "network"
        message = f"{mib:,} MiB of huge pages exceed the memory of a node, {instance.allocatable_memory_mib:,} MiB"
        yield Problem((*here, key), message, "Lower `hugepages2Mi`, the number of pages of 2 MiB", key=True)


@stop_at_unknown_value
def _mig(loc: Loc, resolved: ResolvedPool) -> Iterator[Problem]:
    layout = resolved.entry.gpu.mig
    if layout is None or not resolved.entry.gpu.partitioned or resolved.entry.ami.family != "bottlerocket":
        return
    if layout not in resolved.mig_layouts:
        return  # another check reports it
    known = bottlerocket_mig_key(resolved.gpus.model, resolved.gpus.memory_mib)
    # It supports the layouts of plain profiles: all-1g.5gb, but not all-1g.5gb.me or all-balanced.
    plain = list(resolved.mig_layouts[layout]) == [layout.removeprefix("all-")] and layout.count(".") == 1
    if not known or not plain or layout.startswith("all-4g."):
        message = f"Bottlerocket does not support MIG layout {layout} on {resolved.gpus.model}"
        yield Problem(loc, message, "Set `ami: {family: al2023}`" + (", or use another layout" if known else ""))
