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
    """A number outside the range of every field; the message names the reason."""


def resolve(text: str) -> Scalar:
    """Return the value of a plain (unquoted, untagged) scalar.

    Raises:
        NumberError: the number is infinite, NaN, or exceeds 64 bits.
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
        raise NumberError(f"the number {text} is not finite")
    return text


def _integer(text: str) -> int:
    base = _BASES.get(text[:2], 10)
    digits = text if base == 10 else text[2:]
    if len(digits) > _MOST_DIGITS or abs(value := int(digits, base)) >= 2**63:
        raise NumberError(f"the integer has {len(digits)} digits and exceeds 64 bits")
    return value


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise NumberError(f"the number {text[:_MOST_DIGITS]} is too large")
    return value


def described_value(value: object, shown: str = "") -> str:
    """Return the type of a value and the value, for a message: `the string "eight"`, "a list", "an empty value".

    Args:
        value: the value.
        shown: the value as the message shows it; "" to show only its type.
    """
    if value is None:
        return "an empty value"
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "list", dict: "mapping"}
    name = names.get(type(value), "value")
    return f"the {name} {shown}" if shown else f"a {name}"
