"""Plain YAML scalars by the core schema of YAML 1.2.2 (section 10.3.2): `no`, `on`, `12:30` and dates are strings."""

import math
import re

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_FIRST = frozenset("+-.0123456789tTfFnN~")
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_MOST_DIGITS = 40
_BASES = {"0o": 8, "0x": 16}

Scalar = str | int | float | bool | None


class NumberError(ValueError):
    """A number that no field of a spec can hold; its text says why."""


def resolve(text: str) -> Scalar:
    """The value of a plain (unquoted, untagged) scalar.

    Raises:
        NumberError: infinite, not a number, or beyond 64 bits.
    """
    if text and text[0] not in _FIRST:
        return text
    if text in _NULL:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _INTEGER.fullmatch(text):
        return _integer(text)
    if _FLOAT.fullmatch(text):
        return _finite(text)
    if _NOT_FINITE.fullmatch(text):
        raise NumberError(f"{text} is not a number that a spec can use")
    return text


def _integer(text: str) -> int:
    base = _BASES.get(text[:2], 10)
    digits = text if base == 10 else text[2:]
    if len(digits) > _MOST_DIGITS or abs(value := int(digits, base)) >= 2**63:
        raise NumberError(f"a whole number of {len(digits)} digits is too large")
    return value


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise NumberError(f"{text[:_MOST_DIGITS]} is too large")
    return value


def kind_of(value: object) -> str:
    """What a value is, in words for a message: "a string", "a list", "empty"."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return "true or false"
    names = {int: "a number", float: "a number", str: "a string", list: "a list", dict: "a mapping"}
    return names.get(type(value), "something else")
