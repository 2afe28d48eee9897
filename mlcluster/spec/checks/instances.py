"""Check of each pool's nodes: a known instance type or a node shape."""

from collections.abc import Collection, Iterator

from mlcluster.catalog.instances import instance_names, known_instance
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.partial_checks import stop_at_unknown_value
from mlcluster.spec.pools import NodePool
from mlcluster.spec.suggestions import listed, nearest

_FEW = 6
_BUNDLES = {"inferentia": "Neuron", "inferentia2": "Neuron", "trainium": "Neuron", "trainium2": "Neuron"}


def instance_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Yield problems for pools without nodes, with two kinds of nodes, or with unknown or unsupported nodes."""
    for index, pool in enumerate(spec.node_pools):
        here: Loc = ("nodePools", index)
        yield from _one_of_two(here, pool)
        yield from _shape_on_eks(here, spec, pool)
        yield from _instance((*here, "instanceType"), pool)


@stop_at_unknown_value
def _one_of_two(here: Loc, pool: NodePool) -> Iterator[Problem]:
    if pool.instance_type is not None and pool.node_shape is not None:
        message = "instanceType and nodeShape are mutually exclusive"
        yield Problem((*here, "nodeShape"), message, "Remove one of the two", key=True)
    elif pool.instance_type is None and pool.node_shape is None:
        hint = "Add `instanceType`, for example m7i.2xlarge, or `nodeShape` for machines that are not EC2 instances"
        yield Problem(here, "instanceType or nodeShape is missing", hint)


@stop_at_unknown_value
def _shape_on_eks(here: Loc, spec: ClusterSpec, pool: NodePool) -> Iterator[Problem]:
    if pool.node_shape is not None and spec.target.kind == "eks":
        yield Problem((*here, "nodeShape"), "nodeShape is not supported on target eks", "Use `instanceType`", key=True)


def unknown_instance(name: str, known: Collection[str]) -> tuple[str, str]:
    """Return the message and the hint for an unknown instance type."""
    family, _, size = name.partition(".")
    sizes = sorted(other.partition(".")[2] for other in known if other.startswith(f"{family}."))
    if sizes:
        guess = nearest(size, sizes) if len(sizes) > _FEW else ""
        hint = f"Did you mean {family}.{guess}?" if guess else f"Sizes of {family}: {listed(sizes)}"
        return f"unknown size {size} of instance family {family}", hint
    message = f"unknown EC2 instance type {name}"
    guess = nearest(family, sorted({other.partition(".")[0] for other in known}))
    if not guess:
        return message, ""
    return (
        message,
        f"Did you mean {guess}.{size}?" if f"{guess}.{size}" in known else f"Did you mean a size of {guess}?",
    )


@stop_at_unknown_value
def _instance(loc: Loc, pool: NodePool) -> Iterator[Problem]:
    name = pool.instance_type
    if name is None:
        return
    instance = known_instance(name)
    if instance is None:
        message, hint = unknown_instance(name, instance_names())
        yield Problem(loc, message, hint or "Use `nodeShape` for machines that the catalog does not contain")
        return
    model, maker = instance.accelerator, instance.accelerator_manufacturer
    if not model:
        return
    if maker != "nvidia":
        what = f"{_BUNDLES[model]} ({model})" if model in _BUNDLES else model
        message = f"{name} has {what} accelerators, and mlcluster supports only NVIDIA GPUs"
        yield Problem(loc, message, "Use an instance type with NVIDIA GPUs, for example g6.2xlarge or p5.48xlarge")
    elif not instance.accelerator_count:
        message = f"{name} has a fraction of one {model} GPU, and mlcluster supports only whole GPUs"
        yield Problem(loc, message, "Share a whole GPU with `gpu.mig` or `gpu.timeSlicing`")
