"""The state of an object in the engine: the live object with secret marks, and the notes of the official provider."""

from typing import Any

from mlcluster.kubernetes_provider.cluster import MANAGER
from mlcluster.kubernetes_provider.ownership import owner
from mlcluster.kubernetes_provider.secrecy import seal, seal_secret_object
from mlcluster.kubernetes_provider.shape import from_wire
from mlcluster.kubernetes_provider.values import UNKNOWN, plain

Object = dict[str, Any]

# Notes of the official provider, with which it can take over a stack.
_INPUTS, _API_VERSION, _MANAGER = "__inputs", "__initialApiVersion", "__fieldManager"
_OWNER = "__mlclusterOwner"  # the cluster label at the last write, which remains if a user removes the label
_LATER = ("uid", "resourceVersion", "creationTimestamp", "generation")


def outputs(live: Object, inputs: Object, before: Object | None = None) -> Object:
    """Return the state of an object.

    Args:
        live: the object that the server returned.
        inputs: the inputs, with secret marks.
        before: the previous state, whose notes are kept.
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
    """Return the field manager that wrote the object, also of another provider; otherwise removed fields would stay."""
    return str(plain(state.get(_MANAGER)) or MANAGER)


def recorded_owner(state: Object) -> str:
    """Return the cluster label of the object at the last write."""
    return str(plain(state.get(_OWNER)) or "")


def uid(state: Object) -> str:
    """Return the UID of the object in the state."""
    metadata = plain(state.get("metadata"))
    return str(metadata.get("uid") or "") if isinstance(metadata, dict) else ""


def planned(inputs: Object, before: Object | None = None) -> Object:
    """Return the outputs of a preview without a dry run: the inputs; all other fields are unknown."""
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
    """Return the outputs of a preview from a dry run, without values that the server generated only for it."""
    result = seal(seal_secret_object(from_wire(would)), inputs)
    later = _LATER if new else ("resourceVersion",)
    result["metadata"] = {**result["metadata"], **dict.fromkeys(later, UNKNOWN)}
    return {**result, "status": UNKNOWN} if new else result
