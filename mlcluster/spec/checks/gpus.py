"""GPUs and fast networks of a pool: sharing that the device can do, interfaces that the instance has."""

from collections.abc import Iterator

from mlcluster.catalog.gpus import MIG_DISABLED, gpus
from mlcluster.spec.checks.facts import NodeFacts, node_facts
from mlcluster.spec.checks.instances import has_known_node
from mlcluster.spec.checks.labels import reserved_domain
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.known import as_far_as_known
from mlcluster.spec.pools import NodePool
from mlcluster.spec.suggestions import listed

_EFA = "vpc.amazonaws.com/efa"
_FOLLOWS = {
    "nvidia.com/mig.config": "gpu.mig",
    "nvidia.com/device-plugin.config": "gpu.timeSlicing or gpu.mps",
}
"""Labels by which components are told what the spec says elsewhere."""


def gpu_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Sharing and networks that the nodes cannot do."""
    for index, pool in enumerate(spec.node_pools):
        here: Loc = ("nodePools", index)
        yield from _empty((*here, "gpu"), pool)
        yield from _sharing((*here, "gpu"), pool)
        yield from _efa((*here, "network", "efa"), pool)
        yield from _rdma((*here, "network", "rdma"), pool)
        yield from _labels((*here, "labels"), pool)


@as_far_as_known
def _empty(here: Loc, pool: NodePool) -> Iterator[Problem]:
    """`timeSlicing:` with nothing behind it would be taken for whole GPUs."""
    fields = {"mig": "mig", "time_slicing": "timeSlicing", "mps": "mps"}
    for field, key in fields.items():
        if field in pool.gpu.model_fields_set and getattr(pool.gpu, field) is None:
            hint = f"{key}: {'all-1g.10gb' if key == 'mig' else '{replicas: 4}'}, or remove the key"
            yield Problem((*here, key), "is empty, which says nothing", hint, key=True)


@as_far_as_known
def _sharing(here: Loc, pool: NodePool) -> Iterator[Problem]:
    facts = node_facts(pool) if has_known_node(pool) else None
    if facts is None:
        return
    ways = {"mig": pool.gpu.mig, "timeSlicing": pool.gpu.time_slicing, "mps": pool.gpu.mps}
    given = [key for key, value in ways.items() if value is not None]
    if not facts.gpus:
        brings = ["imageBrings"] if pool.gpu.image_brings else []
        for key in (*given, *brings):
            what = "share" if key in given else "bring anything for"
            message = f"{pool.instance_type or 'this nodeShape'} has no GPUs to {what}"
            yield Problem((*here, key), message, "remove it, or choose nodes with GPUs", key=True)
        return
    dividing = [key for key in given if ways[key] != MIG_DISABLED]
    for key in dividing[1:]:
        message = f"{dividing[0]} is given too; a GPU is shared in one way"
        yield Problem((*here, key), message, "keep one", key=True)
    if pool.gpu.mig is not None and len(dividing) < 2:
        yield from _mig((*here, "mig"), pool.gpu.mig, facts)


def _mig(loc: Loc, layout: str, facts: NodeFacts) -> Iterator[Problem]:
    model, layouts = facts.gpu_model, facts.mig_layouts
    if layout in layouts or (layouts and layout == MIG_DISABLED):
        return
    if layouts:
        gib = f" with {facts.gpu_memory_mib // 1024} GiB" if facts.gpu_memory_mib else ""
        message = f"{model}{gib} has no MIG layout {layout}; it has {listed((*layouts, MIG_DISABLED))}"
        size = layout.partition(".")[0]
        alike = next((name for name in layouts if name.startswith(f"{size}.")), "")
        yield Problem(loc, message, f"did you mean {alike}?" if alike else f"for example {next(iter(layouts))}")
        return
    memories = [known.memory_mib for known in gpus() if known.model == model and known.mig_layouts]
    if memories:
        hint = f"nodeShape.gpu.memoryMib tells the variants apart: {' or '.join(map(str, memories))}"
        yield Problem(loc, f"which {model} this is decides its MIG layouts", hint)
    elif any(known.model == model for known in gpus()):
        yield Problem(loc, f"{model} has no MIG", "gpu.timeSlicing shares any GPU")
    else:
        yield Problem(loc, f"no MIG layouts of {model} are known", "gpu.timeSlicing shares any GPU")


@as_far_as_known
def _efa(loc: Loc, pool: NodePool) -> Iterator[Problem]:
    facts = node_facts(pool) if has_known_node(pool) else None
    if facts is None:
        return
    if pool.network.efa and pool.node_shape is not None:
        yield Problem(loc, "EFA is a network of EC2 instance types", "network.rdma names what other machines offer")
    elif pool.network.efa and not facts.efa:
        yield Problem(loc, f"{pool.instance_type} has no EFA interfaces", "remove it, or choose a type that has them")


@as_far_as_known
def _rdma(here: Loc, pool: NodePool) -> Iterator[Problem]:
    for name in pool.network.rdma:
        domain = reserved_domain(name) or ("nvidia.com" if name.startswith("nvidia.com/gpu") else "")
        if name == _EFA:
            yield Problem((*here, name), "EFA interfaces are not given here", "use network.efa: true", key=True)
        elif domain or name.startswith("nvidia.com/mig-"):
            message = f"{name} is not an RDMA resource"
            yield Problem((*here, name), message, "name what the RDMA device plugin offers, e.g. rdma/hca", key=True)


@as_far_as_known
def _labels(here: Loc, pool: NodePool) -> Iterator[Problem]:
    for key in pool.labels:
        if key in _FOLLOWS:
            message = f"{key} follows from the spec: mlcluster sets it"
            yield Problem((*here, key), message, f"remove it, and say {_FOLLOWS[key]}", key=True)
        elif key.startswith("nvidia.com/gpu.deploy."):
            message = f"{key} says who brings what, which mlcluster knows"
            hint = "gpu.imageBrings says what the image has, components.gpuOperator.without what somebody else brings"
            yield Problem((*here, key), message, hint, key=True)
