"""What the Pulumi SDKs say of a resource: the names and types of its arguments and outputs, and what breaks them.

Everything is read from the argument classes: a property of the class is an argument, the name that `pulumi.getter`
gives it is its name on the wire, and the annotation of its getter is its type.
"""

import importlib
import inspect
import threading
import warnings
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pulumi

UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""How the engine spells a value that is not known yet."""

_REFERENCE = "4dabf18193072939515e22adb298388d"
"""The key by which the engine marks a reference to a resource, among other things."""


_LOADING = threading.Lock()

_NAMES = {"Output": pulumi.Output, "T": Any}
"""What `pulumi.Input` leaves to be looked up: it is a union of a type, something awaited, and "Output[T]"."""


class NoSuchTypeError(LookupError):
    """The SDK has no such resource type."""


@dataclass(frozen=True, slots=True)
class Property:
    """An argument or an output.

    Attributes:
        kinds: every type that it may have; None and outputs are left out.
        required: without it the SDK refuses; of an output: it always has a value.
    """

    kinds: tuple[Any, ...]
    required: bool


@cache
def resource_class(token: str) -> type:
    """The SDK's class of a type token, e.g. aws:ec2/launchTemplate:LaunchTemplate.

    Raises:
        NoSuchTypeError: there is none.
    """
    package, _, rest = token.partition(":")
    module, _, name = rest.partition(":")
    folder = module.partition("/")[0]
    try:
        known: type = _from(f"pulumi_{package}" + ("" if folder == "index" else f".{folder}"), name)
    except (ImportError, AttributeError):
        raise NoSuchTypeError(f"{token} is no resource type of pulumi_{package}") from None
    source = inspect.getsource(importlib.import_module(known.__module__))
    if not issubclass(known, pulumi.Resource) or f"'{token}'" not in source:
        raise NoSuchTypeError(f"{token} is no resource type of pulumi_{package}")
    return known


def _from(module: str, name: str) -> Any:
    """Something in a module of an SDK."""
    with _loading():
        return getattr(importlib.import_module(module), name)


@contextmanager
def _loading() -> Iterator[None]:
    """Modules of an SDK load when the first thing is taken from them, and warn of the deprecated types inside."""
    with _LOADING, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


@cache
def arguments(token: str) -> Mapping[str, Property]:
    """The arguments of a resource type, by their names on the wire."""
    found = resource_class(token)
    module = importlib.import_module(found.__module__)
    return members(getattr(module, f"{found.__name__}Args"))


@cache
def outputs(token: str) -> Mapping[str, Property]:
    """The outputs of a resource type, inputs among them, by their names on the wire."""
    return members(resource_class(token))


@cache
def members(of: type) -> Mapping[str, Property]:
    """The properties of an argument class or a resource class, by their names on the wire."""
    found: dict[str, Property] = {}
    for attribute, getter in _getters(of):
        with _loading():  # a type may stand in a module that nothing was taken from yet
            hint = get_type_hints(getter, localns=_NAMES)["return"]
        hint = get_args(hint)[0] if get_origin(hint) is pulumi.Output else hint
        kinds = tuple(_kinds(hint))
        found[getter._pulumi_name or attribute] = Property(kinds, _always(of, attribute, hint))
    return found


def _getters(of: type) -> Iterator[tuple[str, Any]]:
    for attribute, found in vars(of).items():
        if isinstance(found, property) and hasattr(found.fget, "_pulumi_name"):
            yield attribute, found.fget


def _always(of: type, attribute: str, hint: Any) -> bool:
    if issubclass(of, pulumi.Resource):
        return NoneType not in _unions(hint)
    parameter = inspect.signature(of.__init__).parameters[attribute]  # type: ignore[misc] # generated, plain classes
    return parameter.default is inspect.Parameter.empty


def _unions(hint: Any) -> Iterator[Any]:
    """The members of a union, and of the unions in it."""
    if get_origin(hint) in {Union, UnionType}:
        for part in get_args(hint):
            yield from _unions(part)
    else:
        yield hint


def _kinds(hint: Any) -> Iterator[Any]:
    for part in dict.fromkeys(_unions(hint)):
        if part is not NoneType and get_origin(part) not in {Awaitable, pulumi.Output}:
            yield part


def problems(inputs: Mapping[str, Any], token: str) -> list[str]:
    """What is wrong with the inputs of a resource: one text each, beginning with the property's path.

    Raises:
        NoSuchTypeError: there is no such type.
    """
    return list(_object_problems(inputs, arguments(token), ""))


def _object_problems(value: Mapping[str, Any], known: Mapping[str, Property], path: str) -> Iterator[str]:
    for name, part in value.items():
        here = f"{path}.{name}" if path else name
        if name in known:
            yield from _problems(part, known[name].kinds, here)
        else:
            yield f"{here}: there is no such property"
    missing = sorted(name for name, found in known.items() if found.required and value.get(name) is None)
    yield from (f"{path}.{name}: missing" if path else f"{name}: missing" for name in missing)


def _problems(value: Any, kinds: tuple[Any, ...], path: str) -> Iterator[str]:
    """Nothing when the value fits one of the kinds; else what the kind that comes nearest says."""
    if value is None or value == UNKNOWN:
        return
    found = [list(_misfits(value, kind, path)) for kind in kinds]
    if all(found):
        yield from max(found, key=lambda told: max((len(text.partition(":")[0]) for text in told), default=0))


def _misfits(value: Any, kind: Any, path: str) -> Iterator[str]:
    origin, inside = get_origin(kind), get_args(kind)
    if kind is Any or (isinstance(kind, type) and issubclass(kind, pulumi.Resource)):
        if kind is not Any and not (isinstance(value, dict) and _REFERENCE in value):
            yield f"{path}: not a resource"
    elif origin in {Sequence, list}:
        yield from _list_misfits(value, inside[0], path)
    elif origin in {Mapping, dict}:
        yield from _map_misfits(value, inside[1], path)
    elif isinstance(kind, type) and any(True for _ in _getters(kind)):
        if isinstance(value, dict):
            yield from _object_problems(value, members(kind), path)
        else:
            yield f"{path}: not an object"
    elif not _fits(value, kind):
        yield f"{path}: {value!r} is no {getattr(kind, '__name__', kind)}"


def _list_misfits(value: Any, inside: Any, path: str) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{path}: not a list"
        return
    for index, part in enumerate(value):
        yield from _problems(part, tuple(_kinds(inside)), f"{path}[{index}]")


def _map_misfits(value: Any, inside: Any, path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{path}: not a map"
        return
    for key, part in value.items():
        yield from _problems(part, tuple(_kinds(inside)), f"{path}[{key!r}]")


def _fits(value: Any, kind: Any) -> bool:
    if isinstance(kind, type) and issubclass(kind, Enum):
        return any(value == member.value for member in kind)
    if kind is str:
        # The bridge of the real plugin writes numbers as text, e.g. a launch template's version
        # (pulumi-terraform-bridge, pkg/tfbridge/schema.go: a number where the schema has a string).
        return isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool))
    if kind is int:
        return isinstance(value, int | float) and not isinstance(value, bool) and float(value).is_integer()
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, kind)
