"""Checks of the GPU components: one provider for each part of the GPU software, and settings that fit the pools.

Sources: the values of each chart at its pinned version; the Amazon EKS user guide on accelerated images.
"""

from collections.abc import Iterator, Mapping

from mlcluster.catalog.gpus import MIG_BALANCED
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.components.gpu import DraDriver
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.gpu_duties import IMAGE, Duty, owners
from mlcluster.spec.partial_checks import stop_at_unknown_value
from mlcluster.spec.resolved_pools import ResolvedPool
from mlcluster.spec.suggestions import listed

_PLACES: Mapping[str, Loc] = {
    "gpu-operator": ("components", "gpuOperator"),
    "nvidia-device-plugin": ("components", "nvidiaDevicePlugin"),
    "dcgm-exporter": ("components", "dcgmExporter"),
    "dra-driver-nvidia-gpu": ("components", "draDriver", "gpus"),
}
_NOT_PROVIDED: Mapping[Duty, tuple[str, str]] = {
    "devicePlugin": (
        "no device plugin registers the GPUs of {}, so pods cannot request them",
        "Add `nvidiaDevicePlugin: {}`, or remove `devicePlugin` from `gpuOperator.without`",
    ),
    "nodeFeatureDiscovery": (
        "no component adds the label pci-10de.present to the nodes of {}, by which the GPU operator finds GPUs",
        "Remove `nodeFeatureDiscovery` from `gpuOperator.without`",
    ),
    "gpuFeatureDiscovery": (
        "no component adds the GPU labels to the nodes of {} that the MIG manager and the MPS daemon need",
        "Remove `gpuFeatureDiscovery` from `gpuOperator.without`",
    ),
}
_DRA = (1, 34)
_EXTENDED_RESOURCES = (1, 36)
"""The first version where a claim can satisfy a request for nvidia.com/gpu (DRAExtendedResource, beta)."""


def components_gpu_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Yield problems for GPU software with several providers or with none, and for settings without effect."""
    pools = [pool for pool in spec.resolved_pools if pool.gpus.number]
    if not pools:
        yield from _without_gpus(spec)
        return
    yield from _conflicts(pools)
    yield from _without_provider(pools)
    for pool in pools:
        yield from _pool(spec, (*pool.loc, "gpu"), pool)
    yield from _operator(spec, pools)
    yield from _dra(spec, pools)


@stop_at_unknown_value
def _without_gpus(spec: ClusterSpec) -> Iterator[Problem]:
    given = {
        "gpuOperator": spec.components.gpu_operator,
        "nvidiaDevicePlugin": spec.components.nvidia_device_plugin,
        "dcgmExporter": spec.components.dcgm_exporter,
        "draDriver": spec.components.dra_driver,
    }
    for key, settings in given.items():
        if settings is not None:
            yield Problem(("components", key), "no pool has NVIDIA GPUs", "Remove it, or add a GPU pool", key=True)


@stop_at_unknown_value
def _conflicts(pools: list[ResolvedPool]) -> Iterator[Problem]:
    """Yield one problem for each pair of providers of the same software, with all its pools."""
    found: dict[tuple[str, str], tuple[dict[Duty, None], dict[str, None]]] = {}
    for pool in pools:
        for duty, names in owners(pool).items():
            for later in names[1:]:
                duties, where = found.setdefault((names[0], later), ({}, {}))
                duties[duty], where[pool.name] = None, None
    for (first, later), (duties, where) in found.items():
        # The operator is the last provider in the table. Between it and a component, the component is the exception.
        loser = first if later == "gpu-operator" else later
        other = later if loser == first else first
        what = listed([duty for duty in duties if duty != "dcgm"])
        message = f"two providers of {what} on {listed(where)}: {_provider_name(other)} and {_provider_name(loser)}"
        yield Problem(
            _PLACES[loser],
            message,
            _conflict_hint(loser, other, [duty for duty in duties if duty != "dcgm"]),
            key=True,
        )


def _provider_name(owner: str) -> str:
    return "the image" if owner == IMAGE else owner


def _conflict_hint(loser: str, other: str, duties: list[Duty]) -> str:
    if other == "gpu-operator":
        return f"Remove it, or set `gpuOperator: {{without: [{', '.join(duties)}]}}`"
    if loser == "dra-driver-nvidia-gpu":
        return "Remove `draDriver.gpus`. Compute domains work with every device plugin"
    return f"Keep either {_provider_name(other)} or {loser}"


@stop_at_unknown_value
def _without_provider(pools: list[ResolvedPool]) -> Iterator[Problem]:
    """Yield a problem for each disabled operand of the GPU operator that no other component provides."""
    lacking: dict[Duty, list[str]] = {}
    for pool in pools:
        found = owners(pool)
        for duty in _required_software(pool, found):
            if not found[duty]:
                lacking.setdefault(duty, []).append(pool.name)
    for duty, names in lacking.items():
        message, hint = _NOT_PROVIDED[duty]
        yield Problem(("components", "gpuOperator", "without"), message.format(listed(names)), hint)


def _required_software(pool: ResolvedPool, found: Mapping[Duty, tuple[str, ...]]) -> Iterator[Duty]:
    """Yield the GPU software that the pool needs, except software that every image contains."""
    yield "devicePlugin"
    if any("gpu-operator" in names for names in found.values()):
        yield "nodeFeatureDiscovery"
    by_label = pool.entry.gpu.partitioned and "gpu-operator" in found["migManager"]
    if by_label or (pool.entry.gpu.mps is not None and "gpu-operator" in found["devicePlugin"]):
        yield "gpuFeatureDiscovery"


def _pool(spec: ClusterSpec, here: Loc, pool: ResolvedPool) -> Iterator[Problem]:
    yield from _image_software(spec, here, pool)
    yield from _mig_manager(spec, here, pool)
    yield from _mig_strategy(spec, here, pool)


@stop_at_unknown_value
def _image_software(spec: ClusterSpec, here: Loc, pool: ResolvedPool) -> Iterator[Problem]:
    if spec.target.kind == "eks" and "image_brings" in pool.entry.gpu.model_fields_set:
        message = "imageBrings is not supported on eks, where mlcluster knows the images"
        yield Problem((*here, "imageBrings"), message, "Remove it. docs/gpus.md lists the images", key=True)


@stop_at_unknown_value
def _mig_manager(spec: ClusterSpec, here: Loc, pool: ResolvedPool) -> Iterator[Problem]:
    if pool.entry.gpu.partitioned and pool.mig_layouts and not owners(pool)["migManager"]:
        asked = spec.components.gpu_operator is not None
        message = f"no MIG manager partitions the GPUs: {pool.entry.ami.family} needs the one of the GPU operator"
        hint = "Remove `migManager` from `gpuOperator.without`" if asked else "Remove `nvidiaDevicePlugin`"
        yield Problem((*here, "mig"), message, f"{hint}, or set `ami: {{family: bottlerocket}}`")


@stop_at_unknown_value
def _mig_strategy(spec: ClusterSpec, here: Loc, pool: ResolvedPool) -> Iterator[Problem]:
    single = spec.components.gpu_operator is not None and spec.components.gpu_operator.mig_strategy == "single"
    if single and pool.entry.gpu.mig == MIG_BALANCED and pool.mig_layouts:
        message = f"migStrategy single needs instances of one size, and {pool.entry.gpu.mig} has several sizes"
        yield Problem((*here, "mig"), message, "Set `migStrategy: mixed`, or choose a layout with one size")


@stop_at_unknown_value
def _operator(spec: ClusterSpec, pools: list[ResolvedPool]) -> Iterator[Problem]:
    settings = spec.components.gpu_operator
    if settings is None:
        return
    brings_driver = any("gpu-operator" in owners(pool)["driver"] for pool in pools)
    for key, asked in {"gds": settings.gds, "gdrcopy": settings.gdrcopy}.items():
        if asked and not brings_driver:
            message = f"{key} needs the driver of the GPU operator, and the nodes have another driver"
            hint = "Remove it. EKS images contain GDRCopy" if key == "gdrcopy" else "Remove it"
            yield Problem(("components", "gpuOperator", key), message, hint, key=True)


@stop_at_unknown_value
def _driver_roots(settings: DraDriver, pools: list[ResolvedPool]) -> Iterator[Problem]:
    """Yield a problem if the pools have different driver roots, of which the chart takes one (nvidiaDriverRoot)."""
    by_operator = {pool.name: "gpu-operator" in owners(pool)["driver"] for pool in pools}
    if settings.install and len(set(by_operator.values())) > 1:
        there = listed([name for name, is_so in by_operator.items() if is_so])
        others = listed([name for name, is_so in by_operator.items() if not is_so])
        message = (
            f"the DRA driver needs the same driver on all pools: {there} gets it from the GPU operator, {others} from "
            "the image"
        )
        yield Problem(("components", "draDriver"), message, "Set the same `gpu.imageBrings` on all pools", key=True)


@stop_at_unknown_value
def _dra(spec: ClusterSpec, pools: list[ResolvedPool]) -> Iterator[Problem]:
    settings = spec.components.dra_driver
    if settings is None:
        return
    here: Loc = ("components", "draDriver")
    version = spec.target.kubernetes_version if spec.target.kind == "eks" else ""
    minor = tuple(map(int, version.split("."))) if version else _EXTENDED_RESOURCES
    if not settings.gpus and not settings.compute_domains:
        message = "both computeDomains and gpus are disabled"
        yield Problem((*here, "computeDomains"), message, "Enable one of them, or remove `draDriver`", key=True)
    yield from _driver_roots(settings, pools)
    if minor < _DRA:
        message = f"Kubernetes {version} does not support resource claims (resource.k8s.io/v1)"
        yield Problem(here, message, "Use Kubernetes 1.34 or later", key=True)
    elif settings.gpus and minor < _EXTENDED_RESOURCES:
        message = f"quotas count nvidia.com/gpu, which claims cannot satisfy in Kubernetes {version}"
        yield Problem((*here, "gpus"), message, "Use Kubernetes 1.36 or later, or the device plugin", key=True)
    for pool in pools if settings.gpus else ():
        gpu = pool.entry.gpu
        given = {"mig": gpu.partitioned, "timeSlicing": gpu.time_slicing, "mps": gpu.mps}
        for key in (key for key, value in given.items() if value):
            message = "the DRA driver provides only whole GPUs; sharing needs the device plugin"
            yield Problem((*pool.loc, "gpu", key), message, "Remove it, or `draDriver.gpus`", key=True)
