"""Conditions in the status of objects."""

from typing import Any


def condition(found: dict[str, Any] | None, kind: str) -> dict[str, Any]:
    """Return the condition of an object with this type; {} if it has none."""
    conditions = ((found or {}).get("status") or {}).get("conditions") or []
    return next((entry for entry in conditions if entry.get("type") == kind), {})


def message(found: dict[str, Any] | None, kind: str) -> str:
    """Return the message of a condition."""
    if found is None:
        return "it is not there"
    return str(condition(found, kind).get("message") or "no controller has looked at it yet")
