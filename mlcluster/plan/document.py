"""The plan as a JSON document: camelCase keys, the same bytes for the same plan."""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic.alias_generators import to_camel

from mlcluster.plan.arithmetic import arithmetic
from mlcluster.plan.costs import costs
from mlcluster.plan.model import ItemRef, Plan, PlanObject, PlanPod, PlanRelease, PlanResource, Pool, Toleration
from mlcluster.plan.secrecy import shown_values
from mlcluster.plan.taints import toleration_manifest
from mlcluster.plan.value_paths import dotted
from mlcluster.plan.values import printable
from mlcluster.spec.document import Loc

API_VERSION = "mlcluster/v1alpha1"
_OPAQUE = {PlanObject: ("manifest",), PlanRelease: ("values", "webhook_probes"), PlanResource: ("inputs",)}
"""Fields that hold another system's document: their keys stay as they are."""

_LEFT_OUT: Mapping[type, frozenset[str]] = {
    Plan: frozenset({"findings"}),
    **dict.fromkeys((PlanObject, PlanPod, PlanRelease, PlanResource), frozenset({"component", "team", "pool"})),
}
"""Fields that the document does not have: `validate` prints the findings; the rest follows from ids and spec paths."""


def to_document(plan: Plan) -> dict[str, Any]:
    """Return the whole plan as plain dicts and lists, with `apiVersion` and `kind`."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Plan",
        **_plain(plan),
        "costs": _plain(costs(plan)),
        "arithmetic": _plain(arithmetic(plan)),
    }


def to_json(plan: Plan) -> str:
    """Return the document as text, two spaces deep, in the plan's own order."""
    return json.dumps(to_document(plan), indent=2, ensure_ascii=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, Toleration):
        return toleration_manifest(value)
    if is_dataclass(value) and not isinstance(value, type):
        kept = (field.name for field in fields(value) if field.name not in _LEFT_OUT.get(type(value), ()))
        entry = {to_camel(name): _field(value, name) for name in kept}
        if isinstance(value, PlanRelease):
            entry["values"] = printable(shown_values(value))
            entry["overrides"] = [dotted(path) for path in value.overrides]
        if isinstance(value, PlanObject) and not value.crds:
            del entry["crds"]
        if isinstance(value, Pool):
            entry["firstBound"] = value.first_bound
            entry["usdPerHourAtMin"] = value.usd_per_hour_at_min
            entry["usdPerHourAtMax"] = value.usd_per_hour_at_max
        if isinstance(value, PlanPod):
            entry["nodeSelector"] = dict(value.node_selector)
        return entry
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value


def _field(value: Any, name: str) -> Any:
    """Return a field of an item of the plan as the document has it."""
    found = getattr(value, name)
    if name == "spec_path":
        return spec_path_text(found)
    if isinstance(found, ItemRef):
        return found.id
    return printable(found) if name in _OPAQUE.get(type(value), ()) else _plain(found)


def spec_path_text(spec_path: Loc) -> str:
    """Return a path in the spec as people write it: teams[0].guarantee."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in spec_path)
    return "".join(parts).removeprefix(".")
