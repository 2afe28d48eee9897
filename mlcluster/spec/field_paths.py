"""Lookup of spec fields by a path that a user types, and completion of such paths."""

import re
from collections.abc import Iterator

from mlcluster.errors import ExitCode, MlclusterError
from mlcluster.spec.field_reference import FieldReference, all_fields, spelled, top_fields
from mlcluster.spec.problems import printable
from mlcluster.spec.suggestions import listed, nearest

_TOKEN = re.compile(
    r"""\[\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<index>[^\]]*))\s*\]  # ["rdma/hca"], [0], []
      | \s*\([^)]*\)                                                             # (train), the name of an item
      | \.?(?P<key>[^.\[\]()\s]+)                                                # .minSize
      | (?P<other>.)
    """,
    re.VERBOSE,
)
_MOST_ELSEWHERE = 3
_LONGEST = 60
"""Characters of a path that an error shows."""


class UnknownFieldError(MlclusterError):
    """The spec has no field with this path."""

    def __init__(self, happened: str, hint: str) -> None:
        super().__init__("explaining the spec", happened, hint, exit_code=ExitCode.USAGE)


def find_fields(path: str) -> tuple[FieldReference, ...]:
    """Return the field at a path; several fields if it differs between targets.

    Items and keys can be written in any of these forms: `nodePools[].minSize`, `nodePools.0.minSize`,
    `nodePools[1] (train).minSize`, `teams[].guarantee["train"].gpus`. A path to an item or an entry leads to its list
    or map.

    Raises:
        UnknownFieldError: with the nearest path as a hint.
    """
    found: tuple[FieldReference, ...] = ()
    steps: list[str] = []
    for key in _keys(path):
        if steps and (steps[0] != "[]" or key == "[]" or key.isdecimal()):
            del steps[0]
            continue
        inside = tuple(child for field in found for child in field.fields) if found else top_fields()
        if found and not inside and found[0].type.steps:
            break  # inside the values of a map, such as a label whose key has dots
        known = [field for field in inside if field.key == key]
        if not known:
            raise _unknown(key, found, inside)
        found, steps = tuple(known), list(known[0].type.steps)
    if not found:
        raise _malformed(path)
    return found


def complete_path(incomplete: str) -> list[str]:
    """Return the completions of the last key of a path, and the fields inside if only one field is left."""
    holder, dot, start = incomplete.rpartition(".")
    try:
        inside = [child for field in find_fields(holder) for child in field.fields] if dot else list(top_fields())
    except UnknownFieldError:
        return []
    matching = {f"{holder}{dot}{field.key}": field for field in inside if field.key.startswith(start)}
    if len(matching) == 1:
        (name, field), *_ = matching.items()
        steps = "".join("[]" if step == "[]" else f".{step}" for step in field.type.steps)
        return [name, *(f"{name}{steps}.{child.key}" for child in field.fields)]
    return list(matching)


def _keys(path: str) -> Iterator[str]:
    """Yield the keys and indexes of a path, and `[]` for an item without an index."""
    for match in _TOKEN.finditer(path.strip()):
        kind = match.lastgroup
        text = match.group(kind) if kind else ""
        if kind == "index":
            yield text.strip() or "[]"
        elif kind in {"double", "single", "key"}:
            yield text
        elif kind == "other" and text != ".":
            raise _malformed(path)


def _shown(text: str) -> str:
    """Return a part of a path for an error: printable, and not longer than a line."""
    return printable(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}...")


def _malformed(path: str) -> UnknownFieldError:
    return UnknownFieldError(
        f'"{_shown(path)}" is not the path of a field', "Write a path such as nodePools[].minSize."
    )


def _unknown(key: str, found: tuple[FieldReference, ...], inside: tuple[FieldReference, ...]) -> UnknownFieldError:
    """Return the error for a key that an object does not have."""
    keys = list(dict.fromkeys(field.key for field in inside))
    holder = spelled((*found[0].path, *found[0].type.steps)) if found else "the spec"
    if not keys:
        return UnknownFieldError(
            f"{holder} is of type {found[0].type.name} and has no fields", f"Remove .{_shown(key)}."
        )
    happened = f"{holder} has no field {_shown(key)}"
    guess = nearest(key, keys)
    if guess:
        field = next(field for field in inside if field.key == guess)
        return UnknownFieldError(happened, f"Did you mean {field.name}?")
    elsewhere = list(dict.fromkeys(field.name for field in all_fields() if field.key.lower() == key.lower()))
    if elsewhere:
        return UnknownFieldError(happened, f"Did you mean {' or '.join(elsewhere[:_MOST_ELSEWHERE])}?")
    return UnknownFieldError(happened, f"Its fields are {listed(keys, 40)}.")
