"""Differences between two objects as Pulumi property paths, and the fields that the API server reports as immutable."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from mlcluster.kubernetes_provider.values import Path

Change = Literal["add", "delete", "update"]

_PLAIN_KEY = re.compile(r"^[A-Za-z_$][\w$-]*$")
_TOKEN = re.compile(r'\["((?:[^"\\]|\\.)*)"\]|\[([^\]]*)\]|([^.\[\]]+)')
_ABSENT = object()

# Messages with which API servers, webhooks and CEL rules reject the change of a field of an existing object. There is
# no list of immutable fields. Every other rejection is an error and never causes a replacement.
_IMMUTABLE = re.compile(
    r"immutable|(may|must|can)(not| not|'t) (be )?(change|modif|updat)|updates to .* are forbidden"
    r"|cannot change roleref|is not updatable|may not change|cannot transition",
    re.IGNORECASE,
)


def changes(old: Any, new: Any, at: Path = ()) -> Iterator[tuple[Path, Change]]:
    """Yield the leaves in which `new` differs from `old`, in a stable order."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from _pair(old.get(key, _ABSENT), new.get(key, _ABSENT), (*at, key))
    elif isinstance(old, list) and isinstance(new, list):
        for index in range(max(len(old), len(new))):
            before = old[index] if index < len(old) else _ABSENT
            yield from _pair(before, new[index] if index < len(new) else _ABSENT, (*at, index))
    elif old != new or isinstance(old, bool) != isinstance(new, bool):
        yield at, "update"


def _pair(old: Any, new: Any, at: Path) -> Iterator[tuple[Path, Change]]:
    if old is _ABSENT:
        yield at, "add"
    elif new is _ABSENT:
        yield at, "delete"
    else:
        yield from changes(old, new, at)


def spell(path: Path) -> str:
    """Return a property path in the engine's spelling: `spec.hard["requests.cpu"]`, `spec.taints[0].effect`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _PLAIN_KEY.match(part):
            text += f".{part}" if text else part
        else:
            quoted = part.replace("\\", "\\\\").replace('"', '\\"')
            text += f'["{quoted}"]'
    return text


def parse(text: str) -> Path:
    """Return the parts of a property path, or of the path in a field error (`spec.hard[requests.cpu]`)."""
    parts: list[str | int] = []
    for quoted, bracket, word in _TOKEN.findall(text):
        if bracket:
            parts.append(int(bracket) if bracket.isdigit() else bracket)
        else:
            parts.append(re.sub(r"\\(.)", r"\1", quoted) if quoted else word)
    return tuple(parts)


def immutable(message: str) -> bool:
    """Return whether a rejection means that the change requires a replacement of the object."""
    return bool(_IMMUTABLE.search(message))


def blamed(paths: Iterable[Path], fields: Iterable[str]) -> list[Path]:
    """Return the changed paths that the server's field errors name, or all outside metadata if it names none."""
    paths = list(paths)
    accused = [parse(field) for field in fields if field]
    named = [path for path in paths if any(_overlap(path, field) for field in accused)]
    return named or [path for path in paths if path[0] != "metadata"] or paths


def _overlap(path: Path, field: Path) -> bool:
    length = min(len(path), len(field))
    return path[:length] == field[:length]


def keep(old: Any, new: Any, path: Path) -> Any:
    """Return `new` with the value of `old` at `path` (`ignoreChanges`); `*` matches every key or index."""
    if not path:
        return old
    if not isinstance(old, dict | list) or type(old) is not type(new):
        return new
    result = new.copy()
    for key in _keys(old, new, path[0]):
        inner = keep(_at(old, key), _at(new, key), path[1:])
        if isinstance(result, list):
            result[key] = inner
        elif inner is _ABSENT:
            result.pop(key, None)
        else:
            result[key] = inner
    return result


def _keys(old: Any, new: Any, key: str | int) -> list[Any]:
    if isinstance(old, list):
        both = range(min(len(old), len(new)))
        return [index for index in both if key in {"*", index}]
    return sorted(old.keys() | new.keys()) if key == "*" else [key]


def _at(container: Any, key: Any) -> Any:
    return container.get(key, _ABSENT) if isinstance(container, dict) else container[key]
