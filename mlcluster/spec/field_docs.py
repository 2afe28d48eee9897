"""Documentation of the spec's fields: the string below each field, and its `Doc`."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any, get_args

from pydantic import BaseModel

from mlcluster.spec.cluster import ClusterSpec


@cache
def spec_models() -> dict[str, type[BaseModel]]:
    """Return every model of the spec by its class name."""
    return {model.__name__: model for model in _models(ClusterSpec, set())}


def field_descriptions(model: type[BaseModel]) -> dict[str, str]:
    """Return the description of each field of a model and its base classes, by the name of the attribute."""
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, BaseModel) and base is not BaseModel:
            found.update(_own_descriptions(base))
    return found


def _own_descriptions(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """Yield the attribute and the description of each field in the body of a class."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    statements = body.body if isinstance(body, ast.ClassDef) else []
    for field, below in pairwise(statements):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            text = below.value.value if isinstance(below.value, ast.Constant) else None
            if isinstance(text, str):
                yield field.target.id, " ".join(text.split())


def _models(model: type[BaseModel], seen: set[type[BaseModel]]) -> set[type[BaseModel]]:
    """Return the model and every model that its fields refer to."""
    if model not in seen:
        seen.add(model)
        for field in model.model_fields.values():
            for part in _model_classes(field.annotation):
                _models(part, seen)
    return seen


def _model_classes(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _model_classes(inner)
