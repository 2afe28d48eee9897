"""Detection of fields that another manager added to an exact manifest. Pure; reads `metadata.managedFields`.

Server-side apply compares only the fields of a manifest. Another manager can therefore narrow a NetworkPolicy with
`podSelector: {}` while every field of the manifest keeps its value. Two cases count as additions:

- A key in a map that is empty in the manifest, if another manager owns the key. Defaults of the server have no other
  owner, so `strategy: {}` has no additions.
- A key inside an atomic value (a label selector, the list `ingress`), if another manager has taken the value over.
  Every writer of an atomic value sets all of it.

Labels, annotations and the status have several writers by design and never count.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Object = dict[str, Any]
Path = tuple[str | int, ...]
IsManaged = Callable[[Mapping[str, Any]], bool]
"""A function that returns whether an entry of `managedFields` belongs to a manager that applies the manifest."""

_SHARED = frozenset({"metadata", "status"})


class Added(NamedTuple):
    """A field that another manager added.

    Attributes:
        path: its path in the live object.
        whole: whether it is part of an atomic value, so that the next forced apply removes it.
        manager: the field manager that wrote it.
    """

    path: Path
    whole: bool
    manager: str


class _Owner(NamedTuple):
    """A manager and the fields that it owns below a path, in the form of `fieldsV1`; {} means all of them."""

    manager: str
    fields: Mapping[str, Any]


def added_fields(wanted: Object, live: Object, is_managed: IsManaged) -> list[Added]:
    """Return the fields of a live object that another manager added, in a stable order.

    Args:
        wanted: the manifest.
        live: the object that the server returns.
        is_managed: returns whether an entry belongs to the manager of the manifest.
    """
    ours: list[_Owner] = []
    others: list[_Owner] = []
    for entry in (live.get("metadata") or {}).get("managedFields") or []:
        if not entry.get("subresource"):
            owner = _Owner(str(entry.get("manager") or ""), entry.get("fieldsV1") or {})
            (ours if is_managed(entry) else others).append(owner)
    shared = _SHARED | ({"rules"} if wanted.get("aggregationRule") else set())  # filled by a controller
    exact = {key: value for key, value in wanted.items() if key not in shared}
    return list(_in_map(exact, live, ours, others, ()))


def without_added(live: Object, added: Sequence[Added]) -> list[Object]:
    """Return the JSON patch that removes the added fields of exactly this version of a live object."""
    version = {"op": "test", "path": "/metadata/resourceVersion", "value": live["metadata"]["resourceVersion"]}
    return [version, *({"op": "remove", "path": _pointer(one.path)} for one in reversed(added))]


def _in_value(wanted: Any, live: Any, ours: list[_Owner], others: list[_Owner], at: Path) -> Iterator[Added]:
    taken = [owner for owner in others if not owner.fields]
    if taken and not ours:
        yield from (Added(path, whole=True, manager=taken[0].manager) for path in _beyond(wanted, live, at))
        return
    parts = [owner for owner in others if owner.fields]
    if not parts or (any(not owner.fields for owner in ours) and wanted):
        return
    if isinstance(wanted, dict) and isinstance(live, dict):
        yield from _in_map(wanted, live, ours, parts, at) if wanted else _in_empty(live, ours, parts, at)
    elif isinstance(wanted, list) and isinstance(live, list):
        for index, item in enumerate(live):
            match = _counterpart(item, index, wanted)
            yield from _in_value(match, item, _of_item(ours, item), _of_item(parts, item), (*at, index))


def _in_map(wanted: Object, live: Object, ours: list[_Owner], others: list[_Owner], at: Path) -> Iterator[Added]:
    for key, value in wanted.items():
        if key in live and not (at and key == "metadata"):
            yield from _in_value(value, live[key], _of_key(ours, key), _of_key(others, key), (*at, key))


def _in_empty(live: Object, ours: list[_Owner], others: list[_Owner], at: Path) -> Iterator[Added]:
    for key in live:
        theirs = _of_key(others, key)
        if theirs and not _of_key(ours, key):
            yield Added((*at, key), whole=False, manager=theirs[0].manager)


def _beyond(wanted: Any, live: Any, at: Path) -> Iterator[Path]:
    """Yield the paths of keys in the maps of `live` that the maps of `wanted` do not have."""
    if isinstance(wanted, dict) and isinstance(live, dict):
        for key, value in live.items():
            if key in wanted:
                yield from _beyond(wanted[key], value, (*at, key))
            else:
                yield (*at, key)
    elif isinstance(wanted, list) and isinstance(live, list):
        for index, item in enumerate(live[: len(wanted)]):
            yield from _beyond(wanted[index], item, (*at, index))


def _of_key(owners: list[_Owner], key: str) -> list[_Owner]:
    field = f"f:{key}"
    return [_Owner(owner.manager, owner.fields[field]) for owner in owners if field in owner.fields]


def _of_item(owners: list[_Owner], item: Any) -> list[_Owner]:
    return [
        _Owner(owner.manager, fields)
        for owner in owners
        for field, fields in owner.fields.items()
        if _selects(field, item)
    ]


def _selects(field: str, item: Any) -> bool:
    """Return whether `k:{"name":"main"}` or `v:"a"` of `fieldsV1` selects this item of a list."""
    kind, _, text = field.partition(":")
    if kind not in {"k", "v"}:
        return False
    selected = json.loads(text)
    if kind == "v":
        return bool(selected == item)
    return isinstance(item, dict) and all(item.get(key) == value for key, value in selected.items())


def _counterpart(item: Any, index: int, wanted: list[Any]) -> Any:
    """Return the wanted item of a list that corresponds to a live item, by name if it has one, else by index."""
    name = item.get("name") if isinstance(item, dict) else None
    if name is not None:
        return next((one for one in wanted if isinstance(one, dict) and one.get("name") == name), None)
    return wanted[index] if index < len(wanted) else None


def _pointer(path: Path) -> str:
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)
