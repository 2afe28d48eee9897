"""Components of GPUs: every duty on a node has one owner, and what components are asked for can be.

Sources: the values of each chart at its pin; Amazon EKS user guide on its accelerated images.
"""

from collections.abc import Iterator, Mapping

from mlcluster.catalog.gpus import MIG_BALANCED
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.components.gpu import DraDriver
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.gpu_duties import IMAGE, Duty, can_be_partitioned, gpus_of, owners
from mlcluster.spec.known import as_far_as_known
from mlcluster.spec.pools import NodePool
from mlcluster.spec.suggestions import listed

_PLACES: Mapping[str, Loc] = {
    "gpu-operator": ("components", "gpuOperator"),
    "nvidia-device-plugin": ("components", "nvidiaDevicePlugin"),
    "dcgm-exporter": ("components", "dcgmExporter"),
    "dra-driver-nvidia-gpu": ("components", "draDriver", "gpus"),
}
_LACKING: Mapping[Duty, tuple[str, str]] = {
    "devicePlugin": (
        "nobody announces the GPUs of {}, so that no pod gets one",
        "add nvidiaDevicePlugin, or leave the device plugin to the GPU operator",
    ),
    "nodeFeatureDiscovery": (
        "nobody labels the nodes of {} with pci-10de.present, by which the GPU operator finds GPUs",
        "leave nodeFeatureDiscovery to the GPU operator",
    ),
    "gpuFeatureDiscovery": (
        "nobody says that the GPUs of {} can be cut or shared, by which the MIG manager and the MPS daemon find them",
        "leave gpuFeatureDiscovery to the GPU operator",
    ),
}
_DRA = (1, 34)
_EXTENDED_RESOURCES = (1, 36)
"""Since then a request for nvidia.com/gpu may be answered by a claim (DRAExtendedResource, beta)."""


def components_gpu_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Conflicts between components, images and pools about who brings what."""
    pools = [(index, pool) for index, pool in enumerate(spec.node_pools) if gpus_of(pool)[1]]
    if not pools:
        yield from _without_gpus(spec)
        return
    yield from _conflicts(spec, pools)
    yield from _left_to_nobody(spec, pools)
    for index, pool in pools:
        yield from _pool(spec, ("nodePools", index, "gpu"), pool)
    yield from _operator(spec, [pool for _, pool in pools])
    yield from _dra(spec, pools)


@as_far_as_known
def _without_gpus(spec: ClusterSpec) -> Iterator[Problem]:
    given = {
        "gpuOperator": spec.components.gpu_operator,
        "nvidiaDevicePlugin": spec.components.nvidia_device_plugin,
        "dcgmExporter": spec.components.dcgm_exporter,
        "draDriver": spec.components.dra_driver,
    }
    for key, settings in given.items():
        if settings is not None:
            yield Problem(("components", key), "no pool has NVIDIA GPUs", "remove it, or add a pool", key=True)


@as_far_as_known
def _conflicts(spec: ClusterSpec, pools: list[tuple[int, NodePool]]) -> Iterator[Problem]:
    """One problem for each two that would do the same, however many pools and duties it is about."""
    found: dict[tuple[str, str], tuple[dict[Duty, None], dict[str, None]]] = {}
    for _, pool in pools:
        for duty, names in owners(spec, pool).items():
            for later in names[1:]:
                duties, where = found.setdefault((names[0], later), ({}, {}))
                duties[duty], where[pool.name] = None, None
    for (first, later), (duties, where) in found.items():
        # The operator is last in the table; of it and another component the other one is the exception to explain.
        loser = first if later == "gpu-operator" else later
        other = later if loser == first else first
        what = listed([duty for duty in duties if duty != "dcgm"])
        message = f"two owners of {what} on {listed(where)}: {_named(other)} brings it, and {_named(loser)} would too"
        yield Problem(
            _PLACES[loser],
            message,
            _way_out(loser, other, [duty for duty in duties if duty != "dcgm"]),
            key=True,
        )


def _named(owner: str) -> str:
    return "the image" if owner == IMAGE else owner


def _way_out(loser: str, other: str, duties: list[Duty]) -> str:
    if other == "gpu-operator":
        return f"remove it, or say gpuOperator: {{without: [{', '.join(duties)}]}}"
    if loser == "dra-driver-nvidia-gpu":
        return "leave out draDriver.gpus: compute domains go with every device plugin"
    return f"keep one of {_named(other)} and {loser}"


@as_far_as_known
def _left_to_nobody(spec: ClusterSpec, pools: list[tuple[int, NodePool]]) -> Iterator[Problem]:
    """What the GPU operator is told to leave, and nobody else does."""
    lacking: dict[Duty, list[str]] = {}
    for _, pool in pools:
        found = owners(spec, pool)
        for duty in _needed(pool, found):
            if not found[duty]:
                lacking.setdefault(duty, []).append(pool.name)
    for duty, names in lacking.items():
        message, hint = _LACKING[duty]
        yield Problem(("components", "gpuOperator", "without"), message.format(listed(names)), hint)


def _needed(pool: NodePool, found: Mapping[Duty, tuple[str, ...]]) -> Iterator[Duty]:
    """Duties that the pool cannot do without, beside those that every image has."""
    yield "devicePlugin"
    if any("gpu-operator" in names for names in found.values()):
        yield "nodeFeatureDiscovery"
    by_label = pool.gpu.partitioned and "gpu-operator" in found["migManager"]
    if by_label or (pool.gpu.mps is not None and "gpu-operator" in found["devicePlugin"]):
        yield "gpuFeatureDiscovery"


def _pool(spec: ClusterSpec, here: Loc, pool: NodePool) -> Iterator[Problem]:
    yield from _brought(spec, here, pool)
    yield from _cut_by_nobody(spec, here, pool)
    yield from _of_several_sizes(spec, here, pool)


@as_far_as_known
def _brought(spec: ClusterSpec, here: Loc, pool: NodePool) -> Iterator[Problem]:
    if spec.target.kind == "eks" and "image_brings" in pool.gpu.model_fields_set:
        message = "what images of EKS bring is known"
        yield Problem((*here, "imageBrings"), message, "remove it; docs/gpus.md has the table", key=True)


@as_far_as_known
def _cut_by_nobody(spec: ClusterSpec, here: Loc, pool: NodePool) -> Iterator[Problem]:
    if pool.gpu.partitioned and can_be_partitioned(pool) and not owners(spec, pool)["migManager"]:
        asked = spec.components.gpu_operator is not None
        message = f"nobody cuts the GPUs: {pool.ami.family} leaves that to the GPU operator"
        hint = "leave migManager to it" if asked else "leave nvidiaDevicePlugin out: the GPU operator has one"
        yield Problem((*here, "mig"), message, f"{hint}, or ami: {{family: bottlerocket}}")


@as_far_as_known
def _of_several_sizes(spec: ClusterSpec, here: Loc, pool: NodePool) -> Iterator[Problem]:
    single = spec.components.gpu_operator is not None and spec.components.gpu_operator.mig_strategy == "single"
    if single and pool.gpu.mig == MIG_BALANCED and can_be_partitioned(pool):
        message = "with migStrategy single every instance of a node is alike, and these are of several sizes"
        yield Problem((*here, "mig"), message, "migStrategy: mixed, or a layout of one size")


@as_far_as_known
def _operator(spec: ClusterSpec, pools: list[NodePool]) -> Iterator[Problem]:
    settings = spec.components.gpu_operator
    if settings is None:
        return
    brings_driver = any("gpu-operator" in owners(spec, pool)["driver"] for pool in pools)
    for key, asked in {"gds": settings.gds, "gdrcopy": settings.gdrcopy}.items():
        if asked and not brings_driver:
            message = f"{key} is part of the operator's driver, and the nodes have another"
            hint = "remove it; EKS images have GDRCopy" if key == "gdrcopy" else "remove it"
            yield Problem(("components", "gpuOperator", key), message, hint, key=True)


@as_far_as_known
def _driver_roots(spec: ClusterSpec, settings: DraDriver, pools: list[tuple[int, NodePool]]) -> Iterator[Problem]:
    """Its chart looks for the driver in one place (nvidiaDriverRoot): / or, where the operator brings it, another."""
    by_operator = {pool.name: "gpu-operator" in owners(spec, pool)["driver"] for _, pool in pools}
    if settings.install and len(set(by_operator.values())) > 1:
        there = listed([name for name, is_so in by_operator.items() if is_so])
        others = listed([name for name, is_so in by_operator.items() if not is_so])
        message = (
            f"it looks for the driver in one place: on {there} the GPU operator brings it, on {others} the image does"
        )
        yield Problem(("components", "draDriver"), message, "bring it one way on all pools: gpu.imageBrings", key=True)


@as_far_as_known
def _dra(spec: ClusterSpec, pools: list[tuple[int, NodePool]]) -> Iterator[Problem]:
    settings = spec.components.dra_driver
    if settings is None:
        return
    here: Loc = ("components", "draDriver")
    version = spec.target.kubernetes_version if spec.target.kind == "eks" else ""
    minor = tuple(map(int, version.split("."))) if version else _EXTENDED_RESOURCES
    if not settings.gpus and not settings.compute_domains:
        message = "neither compute domains nor GPUs are left to it"
        yield Problem((*here, "computeDomains"), message, "keep one of them, or remove draDriver", key=True)
    yield from _driver_roots(spec, settings, pools)
    if minor < _DRA:
        message = f"Kubernetes {version} has no resource claims (resource.k8s.io/v1)"
        yield Problem(here, message, "1.34 and later have them", key=True)
    elif settings.gpus and minor < _EXTENDED_RESOURCES:
        message = f"quotas count nvidia.com/gpu, which claims do not answer in Kubernetes {version}"
        yield Problem((*here, "gpus"), message, "1.36 and later, or leave GPUs to the device plugin", key=True)
    for index, pool in pools if settings.gpus else ():
        given = {"mig": pool.gpu.partitioned, "timeSlicing": pool.gpu.time_slicing, "mps": pool.gpu.mps}
        for key in (key for key, value in given.items() if value):
            message = "the DRA driver offers whole GPUs; sharing is the device plugin's"
            yield Problem(("nodePools", index, "gpu", key), message, "remove it, or draDriver.gpus", key=True)
