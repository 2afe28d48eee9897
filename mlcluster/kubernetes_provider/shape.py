"""Conversion of objects between the inputs of the program, the manifest, and the live object."""

import copy
from collections.abc import Callable
from typing import Any

from mlcluster.kubernetes_provider.values import Path

Object = dict[str, Any]

_ABSENT = object()
# Filled in by the server; never part of the inputs.
SERVER_METADATA = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink")


def _wire_key(key: str) -> str:
    if key.startswith("x_kubernetes_"):
        return key.replace("_", "-")
    return f"${key[1:]}" if key in {"_ref", "_schema"} else key


def _sdk_key(key: str) -> str:
    if key.startswith("x-kubernetes-"):
        return key.replace("-", "_")
    return f"_{key[1:]}" if key in {"$ref", "$schema"} else key


def _rename(value: Any, spelling: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {spelling(key): _rename(item, spelling) for key, item in value.items()}
    return [_rename(item, spelling) for item in value] if isinstance(value, list) else value


def to_wire(manifest: Object) -> Object:
    """Return an object for the API server: CRD schemas use `x-kubernetes-...` and `$ref`, which the SDK renames."""
    return _rename(manifest, _wire_key) if manifest.get("kind") == "CustomResourceDefinition" else manifest


def from_wire(live: Object) -> Object:
    """Return an object in the SDK's spelling, without managedFields, which would double the size of the state."""
    found = _rename(live, _sdk_key) if live.get("kind") == "CustomResourceDefinition" else copy.copy(live)
    found["metadata"] = {key: value for key, value in live["metadata"].items() if key != "managedFields"}
    return found


def to_sdk(inputs: Object) -> Object:
    """Return inputs in the SDK's spelling, which the state uses."""
    return _rename(inputs, _sdk_key) if inputs.get("kind") == "CustomResourceDefinition" else inputs


def wanted_of(live: Object) -> Object:
    """Return inputs that describe a live object, for an import."""
    found = {key: value for key, value in from_wire(live).items() if key != "status"}
    found["metadata"] = {key: value for key, value in live["metadata"].items() if key not in SERVER_METADATA}
    return found


def cut(live: Any, inputs: Any) -> Any:
    """Return the live values of exactly the fields that `inputs` sets, for the comparison in a refresh."""
    if isinstance(live, dict) and isinstance(inputs, dict):
        return {key: cut(live[key], item) for key, item in inputs.items() if key in live}
    if isinstance(live, list) and isinstance(inputs, list):
        return _cut_list(live, inputs)
    return live


def _cut_list(live: list[Any], inputs: list[Any]) -> list[Any]:
    names = _names(inputs)
    if names and _names(live):
        by_name = {item["name"]: item for item in inputs}
        return [cut(item, by_name[item["name"]]) if item["name"] in by_name else item for item in live]
    pairs = zip(live, inputs, strict=False)
    return [cut(one, other) for one, other in pairs] + live[len(inputs) :]


def _names(items: list[Any]) -> bool:
    names = [item.get("name") for item in items if isinstance(item, dict)]
    return len(names) == len(items) == len(set(names)) and None not in names and bool(names)


def without_noise(live: Any, would: Any, inputs: Any) -> Any:
    """Return live values with the inputs' spelling for fields that the inputs would not change.

    Therefore a quantity in another spelling (`1000m`, `1`) or a default of the server is not drift.

    Args:
        live: the live object.
        would: the object after a dry run of the inputs.
        inputs: the inputs of the program.
    """
    if live == would:
        return inputs
    if isinstance(live, dict) and isinstance(inputs, dict) and isinstance(would, dict):
        merged = {
            key: without_noise(live.get(key, _ABSENT), would.get(key, _ABSENT), item) for key, item in inputs.items()
        }
        return {key: value for key, value in merged.items() if value is not _ABSENT}
    if isinstance(live, list) and isinstance(inputs, list) and isinstance(would, list) and len(live) == len(would):
        return [
            without_noise(one, two, three) if three is not _ABSENT else one
            for one, two, three in zip(live, would, [*inputs, *[_ABSENT] * len(live)], strict=False)
        ]
    return cut(live, inputs)


def at(value: Any, path: Path) -> Any:
    """Return the value at a path; None if it is absent."""
    for part in path:
        if isinstance(value, dict):
            value = value.get(part)
        else:
            value = value[part] if isinstance(value, list) and isinstance(part, int) and part < len(value) else None
    return value


def put(found: Any, live: Any, path: Path) -> Any:
    """Return a copy of `found` with the live value at a path of `live`; named items of lists are matched by name."""
    if not path:
        return live
    key = path[0]
    if isinstance(found, dict) and isinstance(live, dict):
        return {**found, key: put(found.get(key), live[key], path[1:])}
    if isinstance(found, list) and isinstance(live, list) and isinstance(key, int):
        place = _place(found, live[key], key)
        return [put(item, live[key], path[1:]) if index == place else item for index, item in enumerate(found)]
    return live


def _place(items: list[Any], item: Any, index: int) -> int:
    name = item.get("name") if isinstance(item, dict) else None
    named = (place for place, one in enumerate(items) if isinstance(one, dict) and one.get("name") == name)
    return index if name is None else next(named, index)


def status_drift(live: Any, inputs: Any) -> Any:
    """Return a status of the program with the live values of its scalar fields.

    After creation, controllers own lists (conditions, addresses), which never count as drift.
    """
    if isinstance(inputs, dict):
        found = live if isinstance(live, dict) else {}
        return {key: status_drift(found[key], item) for key, item in inputs.items() if key in found}
    return inputs if isinstance(inputs, list) else live


def removed(old: Any, new: Any) -> Object:
    """Return a merge patch that removes the fields of `old` that `new` lacks."""
    patch: Object = {}
    for key, value in (old or {}).items():
        if key not in (new or {}):
            patch[key] = None
        elif isinstance(value, dict) and isinstance(new[key], dict):
            inner = removed(value, new[key])
            patch |= {key: inner} if inner else {}
    return patch
