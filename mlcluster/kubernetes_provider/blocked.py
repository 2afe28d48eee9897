"""Reasons of a blocked deletion: the finalizers of the object, and the remaining contents of a namespace."""

from typing import Any

from mlcluster.kubernetes_provider.ownership import identity

Object = dict[str, Any]

_ORDINARY = {"foregroundDeletion", "orphan", "kubernetes"}
"""Finalizers that the garbage collector and the namespace controller remove."""


def stuck(found: Object, seconds: float) -> str:
    """Return why an object still exists after this many seconds, as a phrase."""
    if not found["metadata"].get("deletionTimestamp"):
        return f"{identity(found)} still exists after {seconds:.0f} s"
    return f"it is still being deleted after {seconds:.0f} s; {holders(found)}"


def is_blocked(found: Object) -> bool:
    """Return whether the deletion waits for a finalizer that can stay, or a namespace waits for its objects."""
    return bool(set(_finalizers(found)) - _ORDINARY or _remaining(found))


def holders(found: Object) -> str:
    """Return the finalizers of an object, and the messages of a namespace about its remaining objects."""
    return " ".join([f"finalizers: {', '.join(_finalizers(found)) or 'none'}.", *_remaining(found)])


def _finalizers(found: Object) -> list[str]:
    return found["metadata"].get("finalizers") or (found.get("spec") or {}).get("finalizers") or []


def _remaining(found: Object) -> list[str]:
    """Return the messages in a namespace's conditions about remaining objects and finalizers."""
    return [
        str(item.get("message"))
        for item in (found.get("status") or {}).get("conditions") or []
        if item.get("status") == "True" and "Remaining" in str(item.get("type"))
    ]
