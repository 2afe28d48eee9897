"""Checks of the GPU sharing and the network interfaces of pools against their devices."""

from collections.abc import Iterator

from mlcluster.catalog.gpus import MIG_DISABLED, gpus
from mlcluster.catalog.networks import EFA_RESOURCE
from mlcluster.spec.checks.labels import reserved_domain
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.partial_checks import stop_at_unknown_value
from mlcluster.spec.pools import NodePool
from mlcluster.spec.resolved_pools import ResolvedPool
from mlcluster.spec.suggestions import listed

_DERIVED_LABELS = {
    "nvidia.com/mig.config": "`gpu.mig`",
    "nvidia.com/device-plugin.config": "`gpu.timeSlicing` or `gpu.mps`",
}
"""The node labels that mlcluster sets, with the fields that they follow from."""


def gpu_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Yield problems for GPU sharing and networks that the nodes do not support."""
    for resolved in spec.resolved_pools:
        here, pool = resolved.loc, resolved.entry
        yield from _empty((*here, "gpu"), pool)
        yield from _sharing((*here, "gpu"), resolved)
        yield from _efa((*here, "network", "efa"), resolved)
        yield from _rdma((*here, "network", "rdma"), pool)
        yield from _labels((*here, "labels"), pool)


@stop_at_unknown_value
def _empty(here: Loc, pool: NodePool) -> Iterator[Problem]:
    """Yield problems for empty fields: an empty `timeSlicing:` would mean whole GPUs."""
    fields = {"mig": "mig", "time_slicing": "timeSlicing", "mps": "mps"}
    for field, key in fields.items():
        if field in pool.gpu.model_fields_set and getattr(pool.gpu, field) is None:
            hint = f"Set `{key}: {'all-1g.10gb' if key == 'mig' else '{replicas: 4}'}`, or remove the field"
            yield Problem((*here, key), "expected a value, got an empty one", hint, key=True)


@stop_at_unknown_value
def _sharing(here: Loc, resolved: ResolvedPool) -> Iterator[Problem]:
    pool = resolved.entry
    if not resolved.has_known_node:
        return
    ways = {"mig": pool.gpu.mig, "timeSlicing": pool.gpu.time_slicing, "mps": pool.gpu.mps}
    given = [key for key, value in ways.items() if value is not None]
    if not resolved.gpus.number:
        brings = ["imageBrings"] if pool.gpu.image_brings else []
        for key in (*given, *brings):
            message = f"{key} has no effect, because {pool.instance_type or 'this nodeShape'} has no GPUs"
            yield Problem((*here, key), message, "Remove it, or use nodes with GPUs", key=True)
        return
    dividing = [key for key in given if ways[key] != MIG_DISABLED]
    for key in dividing[1:]:
        message = f"{dividing[0]} and {key} are mutually exclusive"
        yield Problem((*here, key), message, "Remove one of the two", key=True)
    if pool.gpu.mig is not None and len(dividing) < 2:
        yield from _mig((*here, "mig"), pool.gpu.mig, resolved)


def _mig(loc: Loc, layout: str, pool: ResolvedPool) -> Iterator[Problem]:
    (model, _, memory_mib), layouts = pool.gpus, pool.mig_layouts
    if layout in layouts or (layouts and layout == MIG_DISABLED):
        return
    if layouts:
        gib = f" with {memory_mib // 1024} GiB" if memory_mib else ""
        message = f"unknown MIG layout {layout} of {model}{gib}; expected one of {listed((*layouts, MIG_DISABLED))}"
        size = layout.partition(".")[0]
        alike = next((name for name in layouts if name.startswith(f"{size}.")), "")
        yield Problem(loc, message, f"Did you mean {alike}?" if alike else f"For example {next(iter(layouts))}")
        return
    memories = [known.memory_mib for known in gpus() if known.model == model and known.mig_layouts]
    if memories:
        hint = f"Set `nodeShape.gpu.memoryMib` to {' or '.join(map(str, memories))}"
        yield Problem(loc, f"the MIG layouts depend on the variant of {model}, which is unknown", hint)
    elif any(known.model == model for known in gpus()):
        yield Problem(loc, f"{model} does not support MIG", "Use `gpu.timeSlicing`, which works with every GPU")
    else:
        yield Problem(
            loc, f"the MIG layouts of {model} are unknown", "Use `gpu.timeSlicing`, which works with every GPU"
        )


@stop_at_unknown_value
def _efa(loc: Loc, pool: ResolvedPool) -> Iterator[Problem]:
    if not (pool.has_known_node and pool.entry.network.efa):
        return
    if pool.instance is None:
        yield Problem(loc, "EFA needs an EC2 instance type", "Use `network.rdma` for the devices of other machines")
    elif not pool.instance.efa:
        message = f"{pool.instance.name} has no EFA interfaces"
        yield Problem(loc, message, "Remove it, or use an instance type with EFA")


@stop_at_unknown_value
def _rdma(here: Loc, pool: NodePool) -> Iterator[Problem]:
    for name in pool.network.rdma:
        domain = reserved_domain(name) or ("nvidia.com" if name.startswith("nvidia.com/gpu") else "")
        if name == EFA_RESOURCE:
            yield Problem((*here, name), "EFA is not an RDMA resource", "Use `network: {efa: true}`", key=True)
        elif domain or name.startswith("nvidia.com/mig-"):
            message = f"{name} is not an RDMA resource"
            yield Problem(
                (*here, name), message, "Use a resource of the RDMA device plugin, for example rdma/hca", key=True
            )


@stop_at_unknown_value
def _labels(here: Loc, pool: NodePool) -> Iterator[Problem]:
    for key in pool.labels:
        if key in _DERIVED_LABELS:
            message = f"mlcluster sets the label {key}"
            yield Problem((*here, key), message, f"Remove it, and set {_DERIVED_LABELS[key]}", key=True)
        elif key.startswith("nvidia.com/gpu.deploy."):
            message = f"mlcluster sets the label {key}"
            hint = "Set `gpu.imageBrings` or `components.gpuOperator.without`, from which the label follows"
            yield Problem((*here, key), message, hint, key=True)
