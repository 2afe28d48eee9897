"""Managed labels and taints on nodes that another party owns: add, recognize and remove them.

Labels are written by server-side apply under a separate field manager, so the server records which labels mlcluster
manages. Only a label that is an instruction to a component, whose controller writes it too, replaces the value of
another manager. `spec.taints` is an atomic list, which managers cannot share (fluxcd/kustomize-controller#772):
mlcluster reads the list, changes it and writes it back with a precondition on the resource version, and records the
managed taints in an annotation.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.kube.errors import ApiError

Object = dict[str, Any]
TaintKey = tuple[str, str, str]
"""Key, value and effect; a node has at most one taint of a key and effect."""

MANAGER = "mlcluster-nodes"
TAINTS = "mlcluster.dev/taints"
"""Annotation of a node with its managed taints, as a JSON list."""

_TRIES = 12
_DOING = "setting labels and taints on nodes"


@dataclass(frozen=True, slots=True)
class Wanted:
    """The labels and taints that the spec requires on a node.

    Attributes:
        over: keys of labels that replace the value of another manager.
    """

    labels: Mapping[str, str]
    taints: tuple[TaintKey, ...]
    over: frozenset[str] = frozenset()


NOTHING = Wanted({}, ())


@dataclass(frozen=True, slots=True)
class NodeChange:
    """The changes to one node.

    Attributes:
        keeps: all managed labels after the change.
        adds: those of `keeps` that the node lacks.
        takes: those of `adds` that replace a value of another manager, with that value.
        drops: keys of the managed labels to remove.
        taints: the taints to add.
        untaints: the taints to remove.
    """

    name: str
    uid: str
    keeps: Mapping[str, str]
    adds: Mapping[str, str]
    drops: tuple[str, ...]
    taints: tuple[TaintKey, ...]
    untaints: tuple[TaintKey, ...]
    takes: Mapping[str, str] = field(default_factory=dict)


def is_marked(node: Object) -> bool:
    """Return whether a node carries managed labels or taints."""
    return bool(managed_labels(node)) or TAINTS in _annotations(node)


def managed_labels(node: Object) -> dict[str, str]:
    """Return the managed labels of a node whose value no other manager has changed."""
    labels = node["metadata"].get("labels") or {}
    owned: set[str] = set()
    for entry in node["metadata"].get("managedFields") or []:
        if entry.get("manager") == MANAGER and entry.get("operation") == "Apply":
            fields = entry.get("fieldsV1") or {}
            owned |= {key[2:] for key in (fields.get("f:metadata") or {}).get("f:labels") or {} if key != "."}
    return {key: value for key, value in labels.items() if key in owned}


def managed_taints(node: Object) -> list[TaintKey]:
    """Return the managed taints that a node still has."""
    recorded = json.loads(_annotations(node).get(TAINTS) or "[]")
    ours = [(entry["key"], entry["value"], entry["effect"]) for entry in recorded]
    there = {_key(taint) for taint in _taints(node)}
    return [taint for taint in ours if taint in there]


def change(node: Object, wanted: Wanted) -> NodeChange | None:
    """Return the changes to a node; None if there are none.

    Raises:
        MlclusterError: another manager has set a different value for a wanted label or taint.
    """
    metadata = node["metadata"]
    labels, ours = metadata.get("labels") or {}, managed_labels(node)
    takes = _taken_over(node, wanted.labels, wanted.over)
    adds = {key: value for key, value in wanted.labels.items() if labels.get(key) != value}
    keeps = {key: value for key, value in wanted.labels.items() if key in adds or key in ours}
    drops = tuple(sorted(ours.keys() - wanted.labels.keys()))
    taints, untaints = _taint_change(node, wanted.taints)
    if not (adds or drops or taints or untaints):
        return None
    return NodeChange(metadata["name"], metadata["uid"], keeps, adds, drops, taints, untaints, takes)


def write(kube: Kube, wanted: NodeChange, taints: Iterable[TaintKey]) -> None:
    """Write the changes to a node, on which `taints` are all wanted taints; ignore a deleted node.

    Raises:
        MlclusterError: another manager owns a label or taint, or changes the node at every attempt.
    """
    if wanted.takes:
        _take_labels(kube, wanted)
    elif wanted.adds or wanted.drops:
        _write_labels(kube, wanted)
    if wanted.taints or wanted.untaints:
        _write_taints(kube, wanted.name, tuple(taints))


def _write_labels(kube: Kube, wanted: NodeChange) -> None:
    try:
        kube.apply(_labelled(wanted), field_manager=MANAGER, force=False)
    except ApiError as error:
        if error.status == 409 and kube.get_object("v1", "Node", wanted.name) is None:
            return
        raise


def _take_labels(kube: Kube, wanted: NodeChange) -> None:
    """Apply labels by force, on an unchanged node only: force applies to all labels of the request."""
    for _ in range(_TRIES):
        node = kube.get_object("v1", "Node", wanted.name)
        if node is None or node["metadata"]["uid"] != wanted.uid:
            return
        _taken_over(node, wanted.keeps, wanted.takes)
        manifest = _labelled(wanted, resourceVersion=node["metadata"]["resourceVersion"])
        try:
            kube.apply(manifest, field_manager=MANAGER, force=True)
        except ApiError as error:
            if error.status != 409:
                raise
        else:
            return
    raise _restless(wanted.name)


def _labelled(wanted: NodeChange, **more: str) -> Object:
    # with the UID, the server does not recreate a node that was just deleted
    metadata: Object = {"name": wanted.name, "uid": wanted.uid, **more}
    if wanted.keeps:
        metadata["labels"] = dict(wanted.keeps)
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata}


def _taken_over(node: Object, wanted: Mapping[str, str], over: Collection[str]) -> dict[str, str]:
    """Return the values of other managers that `wanted` replaces; raises for a label that is not in `over`."""
    labels, ours = node["metadata"].get("labels") or {}, managed_labels(node)
    theirs = {key: labels[key] for key in wanted if labels.get(key, wanted[key]) != wanted[key] and key not in ours}
    for key, value in theirs.items():
        if key not in over:
            raise _taken(node["metadata"]["name"], f"label {key}={value}", f"{key}={wanted[key]}")
    return theirs


def _write_taints(kube: Kube, name: str, wanted: tuple[TaintKey, ...]) -> None:
    for _ in range(_TRIES):
        node = kube.get_object("v1", "Node", name)
        if node is None:
            return
        adds, drops = _taint_change(node, wanted)
        if not (adds or drops) and (TAINTS in _annotations(node)) == bool(managed_taints(node)):
            return
        ours = [taint for taint in managed_taints(node) if taint not in drops] + list(adds)
        kept = [taint for taint in _taints(node) if _key(taint) not in drops]
        record = json.dumps([_taint(taint) for taint in ours], sort_keys=True) if ours else None
        changed = {
            "metadata": {"resourceVersion": node["metadata"]["resourceVersion"], "annotations": {TAINTS: record}},
            "spec": {"taints": [*kept, *map(_taint, adds)] or None},
        }
        try:
            kube.patch("v1", "Node", name, changed, field_manager=MANAGER)
        except ApiError as error:
            if error.status != 409:
                raise
        else:
            return
    raise _restless(name)


def _taint_change(node: Object, wanted: tuple[TaintKey, ...]) -> tuple[tuple[TaintKey, ...], tuple[TaintKey, ...]]:
    """Return the taints to add and to remove, so that exactly `wanted` are the managed taints."""
    ours = set(managed_taints(node))
    drops = tuple(sorted(ours - set(wanted)))
    others = {_key(taint) for taint in _taints(node)} - set(drops)
    taken = {(key, effect): value for key, value, effect in others}
    for key, value, effect in wanted:
        found = taken.get((key, effect), value)
        if found != value:
            raise _taken(node["metadata"]["name"], f"taint {key}={found}:{effect}", f"{key}={value}:{effect}")
    return tuple(taint for taint in wanted if taint not in others), drops


def _restless(name: str) -> MlclusterError:
    happened = f"other managers changed node {name} {_TRIES} times in a row"
    return MlclusterError(_DOING, happened, "Run the same command again.")


def _taken(name: str, found: str, wanted: str) -> MlclusterError:
    happened = f"node {name} has the {found} of another manager, and the spec requires {wanted}"
    return MlclusterError(_DOING, happened, "Change the spec or the node: mlcluster does not overwrite other managers.")


def _taints(node: Object) -> list[Object]:
    return (node.get("spec") or {}).get("taints") or []


def _key(taint: Mapping[str, Any]) -> TaintKey:
    return str(taint["key"]), str(taint.get("value") or ""), str(taint["effect"])


def _taint(taint: TaintKey) -> Object:
    return dict(zip(("key", "value", "effect"), taint, strict=True))


def _annotations(node: Object) -> Mapping[str, str]:
    return node["metadata"].get("annotations") or {}
