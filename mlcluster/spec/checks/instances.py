"""What the nodes of a pool are: one instance type that the catalogue knows, or one shape."""

from collections.abc import Collection, Iterator

from mlcluster.catalog.instances import instance_names
from mlcluster.spec.checks.facts import known_instance
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.known import as_far_as_known
from mlcluster.spec.pools import NodePool
from mlcluster.spec.suggestions import listed, nearest

_FEW = 6
_BUNDLES = {"inferentia": "Neuron", "inferentia2": "Neuron", "trainium": "Neuron", "trainium2": "Neuron"}


def instance_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Pools with no, two, unknown or unsupported kinds of node."""
    for index, pool in enumerate(spec.node_pools):
        here: Loc = ("nodePools", index)
        yield from _one_of_two(here, pool)
        yield from _shape_on_eks(here, spec, pool)
        yield from _instance((*here, "instanceType"), pool)


@as_far_as_known
def _one_of_two(here: Loc, pool: NodePool) -> Iterator[Problem]:
    if pool.instance_type is not None and pool.node_shape is not None:
        yield Problem((*here, "nodeShape"), "instanceType is given too", "keep one of the two", key=True)
    elif pool.instance_type is None and pool.node_shape is None:
        hint = "add instanceType: m7i.2xlarge, or nodeShape for machines that are not EC2 instances"
        yield Problem(here, "instanceType or nodeShape is missing", hint)


@as_far_as_known
def _shape_on_eks(here: Loc, spec: ClusterSpec, pool: NodePool) -> Iterator[Problem]:
    if pool.node_shape is not None and spec.target.kind == "eks":
        yield Problem((*here, "nodeShape"), "eks makes nodes of instance types only", "use instanceType", key=True)


def unknown_instance(name: str, known: Collection[str]) -> tuple[str, str]:
    """Message and hint for an instance type that is not among `known`."""
    family, _, size = name.partition(".")
    sizes = sorted(other.partition(".")[2] for other in known if other.startswith(f"{family}."))
    if sizes:
        guess = nearest(size, sizes) if len(sizes) > _FEW else ""
        hint = f"did you mean {family}.{guess}?" if guess else f"sizes of {family}: {listed(sizes)}"
        return f"{family} has no size {size}", hint
    message = f"{name} is not an EC2 instance type that the catalogue knows"
    guess = nearest(family, sorted({other.partition(".")[0] for other in known}))
    if not guess:
        return message, ""
    return message, f"did you mean {guess}.{size}?" if f"{guess}.{size}" in known else f"did you mean one of {guess}?"


@as_far_as_known
def _instance(loc: Loc, pool: NodePool) -> Iterator[Problem]:
    name = pool.instance_type
    if name is None:
        return
    instance = known_instance(name)
    if instance is None:
        message, hint = unknown_instance(name, instance_names())
        yield Problem(loc, message, hint or "nodeShape describes machines that the catalogue does not know")
        return
    model, maker = instance.accelerator, instance.accelerator_manufacturer
    if not model:
        return
    if maker != "nvidia":
        what = f"{_BUNDLES[model]} ({model})" if model in _BUNDLES else model
        message = f"{name} has {what} accelerators, which are not supported: only NVIDIA GPUs are"
        yield Problem(loc, message, "choose a type with NVIDIA GPUs, e.g. g6.2xlarge or p5.48xlarge")
    elif not instance.accelerator_count:
        message = f"{name} has a fraction of one {model} GPU, which is not supported: only whole GPUs are"
        yield Problem(loc, message, "gpu.mig or gpu.timeSlicing share a whole GPU")


def has_known_node(pool: NodePool) -> bool:
    """Whether the pool names exactly one kind of node, and the catalogue knows it."""
    if pool.node_shape is not None:
        return pool.instance_type is None
    return pool.instance_type is not None and known_instance(pool.instance_type) is not None
