"""Labels and taints of the spec on the nodes of an `existing` cluster, if the spec sets `applyToNodes`.

No stack holds nodes. Each run reads the managed labels and taints from the nodes themselves, so an interrupted run
is simply run again, and the next `up` marks nodes that have joined.

New labels are added before the platform, so that the GPU operator finds them when it starts. Changes that need the
platform follow it: names of configurations that the operator creates; taints, which its daemon sets tolerate by then
(`NoExecute` would evict running ones); and removals, because an operator that is being deleted would still act on them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mlcluster.deploy.session.workspace import Workspace
from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube, Object
from mlcluster.kube.nodes import (
    NOTHING,
    NodeChange,
    TaintKey,
    Wanted,
    change,
    is_marked,
    managed_labels,
    managed_taints,
    write,
)
from mlcluster.plan.components.instruction_labels import NAMES_CONFIGURATION, is_instruction
from mlcluster.plan.model import Pool
from mlcluster.progress import Progress


@dataclass(frozen=True, slots=True)
class Mark:
    """The labels and taints that the nodes of one pool get."""

    selector: frozenset[tuple[str, str]]
    wanted: Wanted


@dataclass(frozen=True, slots=True)
class NodeStep:
    """One node that changes, and all that it is to carry."""

    change: NodeChange
    wanted: Wanted


def marks_of(workspace: Workspace) -> list[Mark]:
    """Return the labels and taints of each pool with `applyToNodes`; [] on other targets than `existing`."""
    if workspace.spec.target.kind != "existing":
        return []
    pairs = zip(workspace.spec.node_pools, workspace.plan.pools, strict=True)
    return [
        _mark(pool, labels=written.apply_to_nodes.labels, taints=written.apply_to_nodes.taints)
        for written, pool in pairs
        if written.apply_to_nodes.labels or written.apply_to_nodes.taints
    ]


def node_steps(kube: Kube, marks: Sequence[Mark], *, early: bool = False) -> list[NodeStep]:
    """Return the differences on the nodes; [] if each has the labels and taints of the spec.

    Args:
        early: only the labels and taints that `up` sets before the platform.

    Raises:
        MlclusterError: mlcluster may not write nodes, or another client set another value of a label or taint.
    """
    nodes = kube.list("v1", "Node")
    if not marks and not any(map(is_marked, nodes)):
        return []
    found = [NodeStep(changed, wanted) for node in nodes for changed, wanted in _changes(node, marks, early=early)]
    if found and not kube.can("patch", "", "nodes"):
        happened = f"we may not change nodes (403), and {len(found)} are to be changed"
        raise MlclusterError("putting labels and taints on nodes", happened, "ask for the right to patch nodes")
    return found


def steps_text(steps: Iterable[NodeStep]) -> list[str]:
    """One line for each label and taint: "2 nodes get label ml-purpose=training"."""
    counts = Counter(text for step in steps for text in _texts(step.change))
    return [
        f"{count} nodes {verb} {rest}" if count > 1 else f"1 node {verb}s {rest}"
        for (verb, rest), count in sorted(counts.items())
    ]


def planned_marks(workspace: Workspace, kube: Kube) -> list[str]:
    """Return the changes that `up` would make on nodes, as lines."""
    return steps_text(node_steps(kube, marks_of(workspace))) if workspace.spec.target.kind == "existing" else []


def put_marks(workspace: Workspace, kube: Kube, progress: Progress) -> None:
    """Put the labels and taints of the spec on the nodes of an existing cluster, and remove earlier ones."""
    if workspace.spec.target.kind == "existing":
        _take_steps(kube, node_steps(kube, marks_of(workspace)), progress, "putting labels and taints on nodes")


def put_labels_first(workspace: Workspace, kube: Kube, progress: Progress) -> None:
    """Add the labels that the platform needs; remove nothing and change no taint."""
    if marks := marks_of(workspace):
        _take_steps(kube, node_steps(kube, marks, early=True), progress, "putting labels on nodes")


def take_off_marks(kube: Kube, progress: Progress) -> None:
    """Remove every label and taint that `put_marks` added, also those that the spec no longer has."""
    _take_steps(kube, node_steps(kube, []), progress, "taking labels and taints off nodes")


def _take_steps(kube: Kube, steps: Sequence[NodeStep], progress: Progress, title: str) -> None:
    if not steps:
        return
    with progress.task(title) as task:
        for number, step in enumerate(steps):
            task.update(step.change.name, done=number, total=len(steps))
            write(kube, step.change, step.wanted.taints)


def _mark(pool: Pool, *, labels: bool, taints: bool) -> Mark:
    """Return the labels and taints of a pool, without the labels that select its nodes."""
    put = {key: value for key, value in pool.labels.items() if pool.selector.get(key) != value}
    bad = tuple((taint.key, taint.value, taint.effect) for taint in pool.taints)
    wanted = Wanted(put if labels else {}, bad if taints else (), frozenset(filter(is_instruction, put)))
    return Mark(frozenset(pool.selector.items()), wanted)


def _changes(node: Object, marks: Sequence[Mark], *, early: bool) -> Iterator[tuple[NodeChange, Wanted]]:
    labels = (node["metadata"].get("labels") or {}).items()
    wanted = next((mark.wanted for mark in marks if mark.selector <= labels), NOTHING)
    if early:
        wanted = _early(node, wanted)
    if changed := change(node, wanted):
        yield changed, wanted


def _early(node: Object, wanted: Wanted) -> Wanted:
    """Return the existing managed labels, and those that do not depend on the platform."""
    ready = {key: value for key, value in wanted.labels.items() if key not in NAMES_CONFIGURATION}
    return Wanted({**managed_labels(node), **ready}, tuple(managed_taints(node)), wanted.over)


def _texts(changed: NodeChange) -> Iterator[tuple[str, str]]:
    """Yield a verb in the plural and its object for each change of a node."""
    for key, value in changed.adds.items():
        instead = f" in place of {changed.takes[key]}, which another client set" if key in changed.takes else ""
        yield "get", f"label {key}={value}{instead}"
    yield from (("lose", f"label {key}") for key in changed.drops)
    yield from (("get", f"taint {_spelt(taint)}{_warning(taint)}") for taint in changed.taints)
    yield from (("lose", f"taint {_spelt(taint)}") for taint in changed.untaints)


def _spelt(taint: TaintKey) -> str:
    key, value, effect = taint
    return f"{key}={value}:{effect}" if value else f"{key}:{effect}"


def _warning(taint: TaintKey) -> str:
    return ", which evicts running pods that do not tolerate it" if taint[2] == "NoExecute" else ""
