"""Conversion of Pulumi values between protobuf and plain Python.

In protobuf, all values are in a Struct; a secret is an object with a signature key, and an unknown is one of a few
fixed strings (pulumi/sdk/go/common/resource/plugin/rpc.go). In Python, a secret is a `Secret`, and an unknown keeps its
string.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from google.protobuf import struct_pb2

SIGNATURE = "4dabf18193072939515e22adb298388d"
SECRET_SIGNATURE = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 - a protocol constant
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
_UNKNOWNS = frozenset(
    {
        UNKNOWN,
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",  # boolean
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",  # number
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",  # list
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",  # object
    }
)
_WHOLE = 2**53  # above, protobuf numbers do not represent all integers

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Secret:
    """A value that the engine encrypts in the state."""

    value: Any

    def __repr__(self) -> str:
        return "Secret(...)"


def decode(struct: struct_pb2.Struct) -> dict[str, Any]:
    """Return a Struct as plain Python, with integers as int."""
    return {key: _decode(value) for key, value in struct.fields.items()}


def _decode(value: struct_pb2.Value) -> Any:  # noqa: PLR0911 - one return for each kind of value
    match value.WhichOneof("kind"):
        case "string_value":
            return value.string_value
        case "struct_value":
            fields = value.struct_value.fields
            if SIGNATURE in fields and fields[SIGNATURE].string_value == SECRET_SIGNATURE:
                return Secret(_decode(fields["value"]))
            return {key: _decode(item) for key, item in fields.items()}
        case "list_value":
            return [_decode(item) for item in value.list_value.values]
        case "number_value":
            number = value.number_value
            return int(number) if abs(number) < _WHOLE and number.is_integer() else number
        case "bool_value":
            return value.bool_value
        case _:
            return None


def encode(mapping: dict[str, Any]) -> struct_pb2.Struct:
    """Return plain Python values as a Struct."""
    struct = struct_pb2.Struct()
    _fill(struct, mapping)
    return struct


def _fill(struct: struct_pb2.Struct, mapping: dict[str, Any]) -> None:
    for key, item in mapping.items():
        _set(struct.fields[key], item)


def _set(value: struct_pb2.Value, item: Any) -> None:
    if isinstance(item, str):
        value.string_value = item
    elif isinstance(item, bool):
        value.bool_value = item
    elif isinstance(item, int | float):
        value.number_value = item
    elif isinstance(item, dict):
        value.struct_value.SetInParent()
        _fill(value.struct_value, item)
    elif isinstance(item, list):
        value.list_value.SetInParent()
        for element in item:
            _set(value.list_value.values.add(), element)
    elif isinstance(item, Secret):
        _fill(value.struct_value, {SIGNATURE: SECRET_SIGNATURE, "value": item.value})
    else:
        value.null_value = struct_pb2.NULL_VALUE


def plain(value: Any) -> Any:
    """Return a deep copy without secret marks."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return plain(value.value) if isinstance(value, Secret) else value


def is_unknown(value: Any) -> bool:
    """Return whether this value itself is unknown."""
    return isinstance(value, str) and value in _UNKNOWNS


def has_unknown(value: Any) -> bool:
    """Return whether a value contains an unknown."""
    if isinstance(value, dict):
        return any(has_unknown(item) for item in value.values())
    if isinstance(value, list):
        return any(has_unknown(item) for item in value)
    return has_unknown(value.value) if isinstance(value, Secret) else is_unknown(value)


def secret_paths(value: Any, at: Path = ()) -> Iterator[Path]:
    """Yield the paths of the outermost secrets."""
    if isinstance(value, Secret):
        yield at
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from secret_paths(item, (*at, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from secret_paths(item, (*at, index))


def secret_texts(value: Any) -> set[str]:
    """Return all texts inside secrets."""
    if isinstance(value, Secret):
        return set(_texts(value.value))
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return set().union(*(secret_texts(item) for item in items))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Secret):
        yield from _texts(value.value)
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)
