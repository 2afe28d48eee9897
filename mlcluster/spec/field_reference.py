"""The reference of the spec: every field with its path and its facts, from the models.

`mlcluster explain-spec` and docs/spec.md show these facts.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, get_args

import yaml

from mlcluster.spec.base import Doc, TargetKind
from mlcluster.spec.field_types import FieldType, field_type
from mlcluster.spec.schema import FACTS, Schema, annotated_schema

TARGETS: tuple[TargetKind, ...] = get_args(TargetKind)


class _Dumper(yaml.SafeDumper):
    """Writes strings that need quotes in double quotes, as the examples do."""

    def choose_scalar_style(self) -> str:
        style: str = super().choose_scalar_style()
        return '"' if style == "'" else style


@dataclass(frozen=True, slots=True)
class FieldReference:
    """One field of the spec.

    Attributes:
        path: its keys from the top, with `[]` for the items of a list and a placeholder for the keys of a map.
        type: its type, with allowed values and constraints.
        description: the description of the field.
        required: the spec must set it wherever it sets the object of the field.
        default: its default as data; None without one.
        doc: its example, its unit, its default in words.
        targets: the targets that support it.
        fields: the fields of its objects.
    """

    path: tuple[str, ...]
    type: FieldType
    description: str
    required: bool
    default: Any
    doc: Doc
    targets: tuple[TargetKind, ...]
    fields: tuple["FieldReference", ...] = ()

    @property
    def name(self) -> str:
        """Return the path as text: `nodePools[].minSize`."""
        return spelled(self.path)

    @property
    def key(self) -> str:
        """Return the last key of the path: `minSize`."""
        return self.path[-1]

    @property
    def all_targets(self) -> bool:
        """Return whether every target supports the field."""
        return len(self.targets) == len(TARGETS)


@cache
def top_fields() -> tuple[FieldReference, ...]:
    """Return the top-level fields of the spec; the other fields are inside them."""
    return tuple(_fields((), annotated_schema(), TARGETS))


def all_fields(fields: tuple[FieldReference, ...] | None = None) -> Iterator[FieldReference]:
    """Yield these fields and every field inside them, in the order of the spec; by default the whole spec."""
    for field in top_fields() if fields is None else fields:
        yield field
        yield from all_fields(field.fields)


def spelled(path: tuple[str, ...]) -> str:
    """Return a path as text: `nodePools[].minSize`, `teams[].guarantee.POOL.gpus`."""
    return ".".join(path).replace(".[]", "[]")


def effective_default(field: FieldReference) -> str:
    """Return the default in words or as YAML; "" for a required field and for an object, whose fields have defaults."""
    if field.required or field.type.name == "object":
        return field.doc.default
    if field.doc.default:
        return field.doc.default
    if field.default in (None, [], {}):
        return "not set" if field.default is None else "empty"
    return in_yaml(field.default)


def in_yaml(value: Any) -> str:
    """Return a value as one line of YAML."""
    text = yaml.dump(value, Dumper=_Dumper, default_flow_style=True, sort_keys=False, width=10_000)
    return text.removesuffix("...\n").strip()


def _fields(path: tuple[str, ...], schema: Schema, targets: tuple[TargetKind, ...]) -> Iterator[FieldReference]:
    """Yield the fields of an object."""
    required = schema.get("required", [])
    for key, field in schema.get("properties", {}).items():
        yield _field((*path, key), field, targets, required=key in required)


def _field(
    path: tuple[str, ...], schema: Schema, inherited: tuple[TargetKind, ...], *, required: bool
) -> FieldReference:
    doc = Doc(example=next(iter(schema.get("examples", [])), None), **schema.get(FACTS, {}))
    kind = field_type(schema, doc.key or "KEY")
    targets = tuple(target for target in inherited if target in (doc.targets or TARGETS))
    fields = _of_branches((*path, *kind.steps), kind, targets)
    default = schema.get("default", {} if kind.name.startswith("map") else None)
    description = schema.get("description", "")
    return FieldReference(path, kind, description, required, default, doc, targets, fields)


def _of_branches(path: tuple[str, ...], kind: FieldType, targets: tuple[TargetKind, ...]) -> tuple[FieldReference, ...]:
    """Return the fields of an object; of a union by `kind` those of each branch, with equal fields merged."""
    merged: list[FieldReference] = []
    for branch, schema in kind.objects:
        own = tuple(target for target in targets if target == branch) or targets
        for field in _fields(path, schema, own):
            _merge(merged, field)
    return tuple(merged)


def _merge(fields: list[FieldReference], field: FieldReference) -> None:
    """Add a field, or its target and values to an equal field of another branch."""
    for index, other in enumerate(fields):
        if other.path == field.path and other.description == field.description:
            values = tuple(dict.fromkeys((*other.type.values, *field.type.values)))
            targets = tuple(target for target in TARGETS if target in {*other.targets, *field.targets})
            fields[index] = replace(other, type=replace(other.type, values=values), targets=targets)
            return
    fields.append(field)
