"""Labels and taints of the spec on the nodes of an `existing` cluster, where the spec says `applyToNodes`.

A step of its own after the platform: nodes are nobody's resource in a stack. What is ours is read from the nodes
themselves each time, so an interrupted run is simply run again, and the next `up` marks nodes that have joined.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube, Object
from mlcluster.kube.nodes import NOTHING, NodeChange, TaintKey, Wanted, change, is_marked, write
from mlcluster.plan.model import Pool
from mlcluster.progress import Progress
from mlcluster.verbs.reading import Reading


@dataclass(frozen=True, slots=True)
class Mark:
    """What the nodes of one pool are to carry."""

    selector: frozenset[tuple[str, str]]
    wanted: Wanted


@dataclass(frozen=True, slots=True)
class NodeStep:
    """One node that changes, and all that it is to carry."""

    change: NodeChange
    wanted: Wanted


def marks_of(reading: Reading) -> list[Mark]:
    """What the spec says; [] on every target but `existing`, and there too unless a pool asks for it."""
    if reading.spec.target.kind != "existing":
        return []
    pairs = zip(reading.spec.node_pools, reading.plan.pools, strict=True)
    return [
        _mark(pool, labels=written.apply_to_nodes.labels, taints=written.apply_to_nodes.taints)
        for written, pool in pairs
        if written.apply_to_nodes.labels or written.apply_to_nodes.taints
    ]


def node_steps(kube: Kube, marks: Sequence[Mark]) -> list[NodeStep]:
    """What differs on the nodes now; [] when each is what the spec says.

    Raises:
        MlclusterError: we may not write nodes, or somebody else has put another value where ours would go.
    """
    nodes = kube.list("v1", "Node")
    if not marks and not any(map(is_marked, nodes)):
        return []
    found = [NodeStep(changed, wanted) for node in nodes for changed, wanted in _changes(node, marks)]
    if found and not kube.can("patch", "", "nodes"):
        happened = f"we may not change nodes (403), and {len(found)} are to be changed"
        raise MlclusterError("putting labels and taints on nodes", happened, "ask for the right to patch nodes")
    return found


def steps_text(steps: Iterable[NodeStep]) -> list[str]:
    """One line for each label and taint: "2 nodes get label ml-purpose=training"."""
    counts = Counter(text for step in steps for text in _texts(step.change))
    return [f"{count} nodes {text}" if count > 1 else f"1 node {_one(text)}" for text, count in sorted(counts.items())]


def planned_marks(reading: Reading, kube: Kube) -> list[str]:
    """What `up` would change on nodes, in lines."""
    return steps_text(node_steps(kube, marks_of(reading))) if reading.spec.target.kind == "existing" else []


def put_marks(reading: Reading, kube: Kube, progress: Progress) -> None:
    """Makes every node of an existing cluster what the spec says of it."""
    if reading.spec.target.kind == "existing":
        _take_steps(kube, node_steps(kube, marks_of(reading)), progress, "putting labels and taints on nodes")


def take_off_marks(kube: Kube, progress: Progress) -> None:
    """Takes off every label and taint that `put_marks` has put on, whatever the spec says now."""
    _take_steps(kube, node_steps(kube, []), progress, "taking labels and taints off nodes")


def _take_steps(kube: Kube, steps: Sequence[NodeStep], progress: Progress, title: str) -> None:
    if not steps:
        return
    with progress.task(title) as task:
        for number, step in enumerate(steps):
            task.update(step.change.name, done=number, total=len(steps))
            write(kube, step.change, step.wanted.taints)


def _mark(pool: Pool, *, labels: bool, taints: bool) -> Mark:
    """What the plan says of the pool, less the labels by which its nodes are found."""
    put = {key: value for key, value in pool.labels.items() if pool.selector.get(key) != value}
    bad = tuple((taint.key, taint.value, taint.effect) for taint in pool.taints)
    return Mark(frozenset(pool.selector.items()), Wanted(put if labels else {}, bad if taints else ()))


def _changes(node: Object, marks: Sequence[Mark]) -> Iterator[tuple[NodeChange, Wanted]]:
    labels = (node["metadata"].get("labels") or {}).items()
    wanted = next((mark.wanted for mark in marks if mark.selector <= labels), NOTHING)
    if changed := change(node, wanted):
        yield changed, wanted


def _texts(changed: NodeChange) -> Iterator[str]:
    yield from (f"get label {key}={value}" for key, value in changed.adds.items())
    yield from (f"lose label {key}" for key in changed.drops)
    yield from (f"get taint {_spelt(taint)}{_warning(taint)}" for taint in changed.taints)
    yield from (f"lose taint {_spelt(taint)}" for taint in changed.untaints)


def _spelt(taint: TaintKey) -> str:
    key, value, effect = taint
    return f"{key}={value}:{effect}" if value else f"{key}:{effect}"


def _warning(taint: TaintKey) -> str:
    return ", which evicts running pods that do not tolerate it" if taint[2] == "NoExecute" else ""


def _one(text: str) -> str:
    verb, _, rest = text.partition(" ")
    return f"{verb}s {rest}"
