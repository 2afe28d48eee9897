"""Managed labels and taints on nodes that another party owns: add, recognize and remove them.

Labels go by server-side apply under a field manager of our own, so the server knows which are ours; over another's
value goes only what is said to be an instruction to a component, whose controller writes it too. `spec.taints` is one
atomic list to the server, so no two managers can share it by apply (fluxcd/kustomize-controller#772): it is read,
changed and written back under the precondition that nobody wrote in between, and an annotation says which are ours.
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
"""Key, value and effect; the server takes one taint of a key and effect."""

MANAGER = "mlcluster-nodes"
TAINTS = "mlcluster.dev/taints"
"""Annotation of a node: the taints that we put on it, as a JSON list."""

_TRIES = 12
_DOING = "putting labels and taints on nodes"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a node is to carry because of the spec.

    Attributes:
        over: keys of labels that go over the value of somebody else.
    """

    labels: Mapping[str, str]
    taints: tuple[TaintKey, ...]
    over: frozenset[str] = frozenset()


NOTHING = Wanted({}, ())


@dataclass(frozen=True, slots=True)
class NodeChange:
    """What is to change on one node.

    Attributes:
        keeps: the labels of ours that it has then.
        adds: of those, what it does not have yet.
        takes: of `adds`, those that go over the value of somebody else, and that value.
        drops: keys of ours that go.
        taints: to put on.
        untaints: to take off.
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
    """Whether a node carries anything of ours."""
    return bool(our_labels(node)) or TAINTS in _annotations(node)


def our_labels(node: Object) -> dict[str, str]:
    """The labels that we put on a node and nobody has changed since."""
    labels = node["metadata"].get("labels") or {}
    owned: set[str] = set()
    for entry in node["metadata"].get("managedFields") or []:
        if entry.get("manager") == MANAGER and entry.get("operation") == "Apply":
            fields = entry.get("fieldsV1") or {}
            owned |= {key[2:] for key in (fields.get("f:metadata") or {}).get("f:labels") or {} if key != "."}
    return {key: value for key, value in labels.items() if key in owned}


def our_taints(node: Object) -> list[TaintKey]:
    """The taints that we put on a node and that it still has."""
    recorded = json.loads(_annotations(node).get(TAINTS) or "[]")
    ours = [(entry["key"], entry["value"], entry["effect"]) for entry in recorded]
    there = {_key(taint) for taint in _taints(node)}
    return [taint for taint in ours if taint in there]


def change(node: Object, wanted: Wanted) -> NodeChange | None:
    """What is to change on a node; None when nothing is.

    Raises:
        MlclusterError: somebody else has given it another value for a label or taint that is wanted.
    """
    metadata = node["metadata"]
    labels, ours = metadata.get("labels") or {}, our_labels(node)
    takes = _taken_over(node, wanted.labels, wanted.over)
    adds = {key: value for key, value in wanted.labels.items() if labels.get(key) != value}
    keeps = {key: value for key, value in wanted.labels.items() if key in adds or key in ours}
    drops = tuple(sorted(ours.keys() - wanted.labels.keys()))
    taints, untaints = _taint_change(node, wanted.taints)
    if not (adds or drops or taints or untaints):
        return None
    return NodeChange(metadata["name"], metadata["uid"], keeps, adds, drops, taints, untaints, takes)


def write(kube: Kube, wanted: NodeChange, taints: Iterable[TaintKey]) -> None:
    """Makes one change; `taints` are all that are wanted on the node. A node that has gone is left alone.

    Raises:
        MlclusterError: a label or taint belongs to somebody else, or others write without a pause.
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
    """By force, which is for the whole request: so only onto the node as it was when no other label was taken."""
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
    # with the UID the server does not create the node that somebody deleted a moment ago
    metadata: Object = {"name": wanted.name, "uid": wanted.uid, **more}
    if wanted.keeps:
        metadata["labels"] = dict(wanted.keeps)
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata}


def _taken_over(node: Object, wanted: Mapping[str, str], over: Collection[str]) -> dict[str, str]:
    """The values of others that `wanted` goes over; one that is not in `over` is refused."""
    labels, ours = node["metadata"].get("labels") or {}, our_labels(node)
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
        if not (adds or drops) and (TAINTS in _annotations(node)) == bool(our_taints(node)):
            return
        ours = [taint for taint in our_taints(node) if taint not in drops] + list(adds)
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
    """What to put on and what to take off, so that of ours exactly `wanted` is there."""
    ours = set(our_taints(node))
    drops = tuple(sorted(ours - set(wanted)))
    others = {_key(taint) for taint in _taints(node)} - set(drops)
    taken = {(key, effect): value for key, value, effect in others}
    for key, value, effect in wanted:
        found = taken.get((key, effect), value)
        if found != value:
            raise _taken(node["metadata"]["name"], f"taint {key}={found}:{effect}", f"{key}={value}:{effect}")
    return tuple(taint for taint in wanted if taint not in others), drops


def _restless(name: str) -> MlclusterError:
    happened = f"others changed node {name} {_TRIES} times in a row"
    return MlclusterError(_DOING, happened, "run the same command again")


def _taken(name: str, found: str, wanted: str) -> MlclusterError:
    happened = f"node {name} has the {found} of somebody else, and the spec wants {wanted}"
    return MlclusterError(_DOING, happened, "change the spec, or the node; nothing of others is overwritten")


def _taints(node: Object) -> list[Object]:
    return (node.get("spec") or {}).get("taints") or []


def _key(taint: Mapping[str, Any]) -> TaintKey:
    return str(taint["key"]), str(taint.get("value") or ""), str(taint["effect"])


def _taint(taint: TaintKey) -> Object:
    return dict(zip(("key", "value", "effect"), taint, strict=True))


def _annotations(node: Object) -> Mapping[str, str]:
    return node["metadata"].get("annotations") or {}
