"""The state of an object in the engine: the sealed live object, and the annotations of the official provider."""

from typing import Any

from mlcluster.kubernetes_provider.cluster import MANAGER
from mlcluster.kubernetes_provider.ownership import owner
from mlcluster.kubernetes_provider.secrecy import seal, seal_secret_object
from mlcluster.kubernetes_provider.shape import from_wire
from mlcluster.kubernetes_provider.values import UNKNOWN, plain

Object = dict[str, Any]

# Notes of the official provider, so that it can take a stack over.
_INPUTS, _API_VERSION, _MANAGER = "__inputs", "__initialApiVersion", "__fieldManager"
_OWNER = "__mlclusterOwner"  # the cluster label at the last write: survives somebody taking the label off
_LATER = ("uid", "resourceVersion", "creationTimestamp", "generation")


def outputs(live: Object, inputs: Object, before: Object | None = None) -> Object:
    """The state of an object.

    Args:
        live: as the server gave it.
        inputs: with secret marks.
        before: the state so far, whose notes are kept.
    """
    notes = before or {}
    kept = seal(seal_secret_object(from_wire(live)), inputs)
    return {
        **kept,
        _INPUTS: inputs,
        _API_VERSION: notes.get(_API_VERSION) or live.get("apiVersion", ""),
        _MANAGER: manager(notes),
        _OWNER: owner(plain(inputs)) or notes.get(_OWNER, ""),
    }


def manager(state: Object) -> str:
    """The field manager that wrote the object; another provider's name is kept, or removed fields would stay."""
    return str(plain(state.get(_MANAGER)) or MANAGER)


def recorded_owner(state: Object) -> str:
    """The cluster label the object had when we last wrote it."""
    return str(plain(state.get(_OWNER)) or "")


def uid(state: Object) -> str:
    """The uid of the object that the state speaks of."""
    metadata = plain(state.get("metadata"))
    return str(metadata.get("uid") or "") if isinstance(metadata, dict) else ""


def planned(inputs: Object, before: Object | None = None) -> Object:
    """Outputs of a preview when nobody can be asked: inputs, and everything else later."""
    known = before or {}
    result = {**inputs, "status": UNKNOWN}
    metadata = inputs.get("metadata")
    if isinstance(metadata, dict):
        old = known.get("metadata")
        kept = old if isinstance(old, dict) else {}
        later = {key: kept.get(key, UNKNOWN) for key in _LATER} | {"resourceVersion": UNKNOWN}
        result["metadata"] = {**later, **metadata}
    return result


def previewed(would: Object, inputs: Object, *, new: bool) -> Object:
    """Outputs of a preview from a dry run: the server's answer without what it only made up for the occasion."""
    result = seal(seal_secret_object(from_wire(would)), inputs)
    later = _LATER if new else ("resourceVersion",)
    result["metadata"] = {**result["metadata"], **dict.fromkeys(later, UNKNOWN)}
    return {**result, "status": UNKNOWN} if new else result
