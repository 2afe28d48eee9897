"""Partial specs: the valid values of a spec with validation errors.

Reading an invalid value raises `UnknownValueError`. A check that ends without this error has used only valid values, so
its problems remain however the user corrects the invalid values.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import ConfigDict, Discriminator, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

from mlcluster.spec.base import Doc, SpecModel
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Document, Loc

_UNKNOWN: Any = object()
_CONFIG = ConfigDict(strict=True)


def partial_spec(document: Document) -> ClusterSpec:
    """Return the spec with the valid values of the document.

    Args:
        document: the document; its problems name the values that the YAML reader could not read.
    """
    unread = frozenset(problem.loc for problem in document.problems)
    if unread and any("&" in line for line in document.lines):
        unread = frozenset({()})  # an alias can copy an unreadable value anywhere
    spec: ClusterSpec = _Reader(unread).model(ClusterSpec, document.data, ())
    return spec


class _Reader:
    """Builds models from data without the invalid values."""

    def __init__(self, unread: Iterable[Loc]) -> None:
        self._unread = frozenset(unread)
        self._holding = frozenset(loc[:depth] for loc in self._unread for depth in range(len(loc) + 1))

    def model(self, model: type[SpecModel], raw: object, loc: Loc) -> Any:
        """Return the model; its invalid fields are not set."""
        data = raw if isinstance(raw, dict) and loc not in self._unread else None
        fields = {name: (field.alias or to_camel(name), field) for name, field in model.model_fields.items()}
        keys = {key for key, _ in fields.values()}
        # An unknown key can be a misspelling of any absent key.
        stray = data is None or not keys.issuperset(data) or self._has_stray_key(loc, keys)
        given = {name for name, (key, _) in fields.items() if data is not None and key in data}
        values: dict[str, Any] = {}
        for name, (key, field) in fields.items():
            if data is not None and name in given:
                values[name] = self._value(field.annotation, _hint(field), data[key], (*loc, key))
            elif stray or field.is_required():
                values[name] = _UNKNOWN
        made = model.model_construct(_fields_set=given, **values)
        for name in (name for name, value in values.items() if value is _UNKNOWN):
            made.__dict__.pop(name, None)
        return made

    def _has_stray_key(self, loc: Loc, keys: Iterable[str]) -> bool:
        below = {unread[len(loc)] for unread in self._unread if unread[:-1] == loc and unread != loc}
        return not below <= set(keys)

    def _value(self, annotation: Any, hint: Any, raw: object, loc: Loc) -> Any:
        """Return the value of one field or entry, or `_UNKNOWN`."""
        if loc not in self._holding:
            try:
                return _adapter(hint).validate_python(raw)
            except ValidationError:
                pass
        return _UNKNOWN if loc in self._unread else self._inside(annotation, raw, loc)

    def _inside(self, annotation: Any, raw: object, loc: Loc) -> Any:
        """Return a value with invalid parts; only models can omit them."""
        model = _model_of(annotation, raw)
        if model is not None:
            return self.model(model, raw, loc) if isinstance(raw, dict) else _UNKNOWN
        while get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        kind, arguments = get_origin(annotation), get_args(annotation)
        if kind is list and isinstance(raw, list):
            entries = self._entries(arguments[0], dict(enumerate(raw)), loc)
            return _UNKNOWN if entries is None else list(entries.values())
        if kind is dict and isinstance(raw, dict) and all(_fits(arguments[0], key) for key in raw):
            entries = self._entries(arguments[1], raw, loc)
            return _UNKNOWN if entries is None else entries
        return _UNKNOWN

    def _entries(self, annotation: Any, raw: Mapping[Any, object], loc: Loc) -> dict[Any, Any] | None:
        """Return the models in a list or mapping; None if it contains other values or is invalid as a whole."""
        model = _model_of(annotation, None)
        if model is None:
            return None
        found = {key: self._value(annotation, annotation, entry, (*loc, key)) for key, entry in raw.items()}
        whole = all(_fits(annotation, entry) and (*loc, key) not in self._holding for key, entry in raw.items())
        if whole:
            return None
        return {key: self.model(model, None, loc) if entry is _UNKNOWN else entry for key, entry in found.items()}


def _model_of(annotation: Any, raw: object) -> type[SpecModel] | None:
    """Return the model of a value; of a union, the model with the `kind` of the value."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if isinstance(annotation, type) and issubclass(annotation, SpecModel):
        return annotation
    if get_origin(annotation) not in {Union, UnionType}:
        return None
    models = [found for part in get_args(annotation) if (found := _model_of(part, raw)) is not None]
    if len(models) == 1 and len(get_args(annotation)) == 2 and type(None) in get_args(annotation):
        return models[0]
    kind = raw.get("kind") if isinstance(raw, dict) else None
    return next((model for model in models if _kinds(model) == (kind,)), None)


def _kinds(model: type[SpecModel]) -> tuple[object, ...]:
    field = model.model_fields.get("kind")
    return get_args(field.annotation) if field is not None and get_origin(field.annotation) is Literal else ()


def _hint(field: FieldInfo) -> Any:
    """Return the type of a field with its constraints, for `TypeAdapter`."""
    limits = [entry for entry in field.metadata if not isinstance(entry, Doc)]
    if isinstance(field.discriminator, str):
        limits.append(Discriminator(field.discriminator))
    annotated: Any = Annotated
    return annotated[(field.annotation, *limits)] if limits else field.annotation


def _fits(hint: Any, raw: object) -> bool:
    try:
        _adapter(hint).validate_python(raw)
    except ValidationError:
        return False
    return True


def _adapter(hint: Any) -> TypeAdapter[Any]:
    try:
        return _cached_adapter(hint)
    except TypeError:  # constraints that are not hashable
        return _made_adapter(hint)


@cache
def _cached_adapter(hint: Any) -> TypeAdapter[Any]:
    return _made_adapter(hint)


def _made_adapter(hint: Any) -> TypeAdapter[Any]:
    is_model = isinstance(hint, type) and issubclass(hint, SpecModel)
    return TypeAdapter(hint) if is_model else TypeAdapter(hint, config=_CONFIG)
