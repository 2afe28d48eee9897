"""Images, volumes, huge pages and GPUs of `eks` pools: what no EKS image can do.

Sources: Amazon EBS user guide "General Purpose SSD volumes" (gp3: 500 IOPS a GiB, 0.25 MiB/s an
IOPS, 64 TiB); bottlerocket-core-kit sources/nvidia-migmanager (GPUs and layouts that it knows).
"""

from collections.abc import Iterator

from mlcluster.catalog.gpus import gpu
from mlcluster.catalog.instances import InstanceType
from mlcluster.catalog.networks import why_no_layout
from mlcluster.spec.checks.facts import known_instance, units
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.eks import EksTarget
from mlcluster.spec.eks_nodes import HUGEPAGE_MIB, bottlerocket_mig_key, hugepages
from mlcluster.spec.known import as_far_as_known
from mlcluster.spec.pools import NodePool

_SMALLEST_GIB = 20
_LARGEST_GIB = 65_536
_BASE_IOPS = 3000
_IOPS_PER_GIB = 500
_IOPS_PER_MIB = 4


def image_problems(here: Loc, pool: NodePool, target: EksTarget) -> Iterator[Problem]:
    """Images that are gone or do not fit, volumes that EBS does not make, sharing that the image cannot set up."""
    yield from _family((*here, "ami"), pool, target)
    yield from _volume((*here, "rootVolume"), pool)
    yield from _of_instance(here, pool)


@as_far_as_known
def _of_instance(here: Loc, pool: NodePool) -> Iterator[Problem]:
    instance = known_instance(pool.instance_type or "")
    if instance is not None:
        yield from _driver(here, pool, instance)
        yield from _hugepages(here, pool, instance)
        yield from _mig((*here, "gpu", "mig"), pool, instance)
        yield from _mps((*here, "gpu", "mps"), pool)


@as_far_as_known
def _mps(loc: Loc, pool: NodePool) -> Iterator[Problem]:
    if pool.gpu.mps is not None and pool.ami.family == "bottlerocket":
        message = "Bottlerocket's own device plugin has no MPS"
        yield Problem(loc, message, "ami: {family: al2023}, or gpu.timeSlicing", key=True)


@as_far_as_known
def _family(loc: Loc, pool: NodePool, target: EksTarget) -> Iterator[Problem]:
    if pool.ami.family == "al2":
        message = "EKS stopped making Amazon Linux 2 images on 2025-11-26"
        yield Problem((*loc, "family"), message, "use al2023 (the default) or bottlerocket")
    release, minor = pool.ami.release, target.kubernetes_version
    if release is not None and pool.ami.family == "al2023" and not release.startswith(f"{minor}."):
        message = f"{release} is no release of the AL2023 image for Kubernetes {minor}"
        yield Problem((*loc, "release"), message, f"one that begins with {minor}., e.g. {minor}.3-20260818")


@as_far_as_known
def _driver(here: Loc, pool: NodePool, instance: InstanceType) -> Iterator[Problem]:
    if instance.name.startswith("g7."):
        message = f"{instance.name} needs the NVIDIA driver 595, and EKS images have 580"
        yield Problem((*here, "instanceType"), message, "choose another family, e.g. g7e or g6e")
    if pool.network.efa and instance.efa and not instance.accelerator_count:
        message = "EFA needs nodes with GPUs: the other EKS images have no EFA driver"
        yield Problem((*here, "network", "efa"), message, "remove it, or choose a GPU type")
    elif pool.network.efa and (why := why_no_layout(instance.name)):
        message = f"{instance.name} cannot have EFA: {why}"
        yield Problem((*here, "network", "efa"), message, "remove it, or choose another type")


@as_far_as_known
def _volume(loc: Loc, pool: NodePool) -> Iterator[Problem]:
    volume = pool.root_volume
    gib = -(-units("ephemeralStorage", volume.size) // 1024)
    if not _SMALLEST_GIB <= gib <= _LARGEST_GIB:
        message = f"{volume.size} is {gib:,} GiB; a root volume has {_SMALLEST_GIB} to {_LARGEST_GIB:,}"
        yield Problem((*loc, "size"), message, 'for example size: "100Gi"')
        return
    iops = volume.iops or _BASE_IOPS
    if iops > max(_BASE_IOPS, gib * _IOPS_PER_GIB):
        message = f"gp3 gives at most {_IOPS_PER_GIB} IOPS a GiB: {gib * _IOPS_PER_GIB:,} for {gib} GiB"
        yield Problem((*loc, "iops"), message, f'size: "{-(-iops // _IOPS_PER_GIB)}Gi", or fewer IOPS')
    if volume.throughput_mib is not None and volume.throughput_mib * _IOPS_PER_MIB > iops:
        message = f"gp3 gives at most 0.25 MiB/s an IOPS: {iops // _IOPS_PER_MIB} for {iops:,} IOPS"
        yield Problem((*loc, "throughputMib"), message, f"iops: {volume.throughput_mib * _IOPS_PER_MIB}, or less")


@as_far_as_known
def _hugepages(here: Loc, pool: NodePool, instance: InstanceType) -> Iterator[Problem]:
    mib = hugepages(pool) * HUGEPAGE_MIB
    if mib >= instance.allocatable_memory_mib:
        key = "hugepages2Mi" if pool.hugepages_2mi else "network"
        message = f"{mib:,} MiB of huge pages leave nothing of the {instance.allocatable_memory_mib:,} MiB of a node"
        yield Problem((*here, key), message, "hugepages2Mi counts pages of 2 MiB", key=True)


@as_far_as_known
def _mig(loc: Loc, pool: NodePool, instance: InstanceType) -> Iterator[Problem]:
    layout = pool.gpu.mig
    if layout is None or not pool.gpu.partitioned or pool.ami.family != "bottlerocket":
        return
    facts = gpu(instance.accelerator, instance.accelerator_memory_mib)
    if facts is None or layout not in facts.mig_layouts:
        return  # no GPU of the type does that: said already
    known = bottlerocket_mig_key(instance.accelerator, instance.accelerator_memory_mib)
    # It knows layouts of plain profiles: all-1g.5gb, not all-1g.5gb.me or all-balanced.
    plain = list(facts.mig_layouts[layout]) == [layout.removeprefix("all-")] and layout.count(".") == 1
    if not known or not plain or layout.startswith("all-4g."):
        message = f"Bottlerocket cannot make {layout} of {instance.accelerator}"
        yield Problem(loc, message, "ami: {family: al2023}" + (", or another layout" if known else ""))
