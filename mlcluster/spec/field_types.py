"""Types of spec fields in plain words, from their JSON Schema."""

from collections.abc import Iterator
from dataclasses import dataclass

from mlcluster.spec.patterns import PATTERNS
from mlcluster.spec.schema import Schema, expanded

_PLURALS = {
    "string": "strings",
    "integer": "integers",
    "number": "numbers",
    "boolean": "booleans",
    "object": "objects",
    "any value": "any values",
}


@dataclass(frozen=True, slots=True)
class FieldType:
    """The type of a field.

    Attributes:
        name: the type in words: "integer", "list of strings", "map of POOL to object".
        values: the only allowed values; of a list or map, of its items.
        constraints: the range, the length and the format, each as a phrase.
        steps: the path from the field to its values: `[]` for the items of a list, the placeholder for a key of a map.
        objects: the JSON Schemas of its objects, each with the `kind` of its branch in a union, else "".
    """

    name: str
    values: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    objects: tuple[tuple[str, Schema], ...] = ()


def field_type(schema: Schema, key: str = "KEY") -> FieldType:
    """Return the type of a field.

    Args:
        schema: its JSON Schema, where null stands for the absent value.
        key: the placeholder for the keys of a map.
    """
    branches = [_branch(branch, key) for branch in expanded(schema, None) if branch.get("type") != "null"]
    return FieldType(
        " or ".join(dict.fromkeys(branch.name for branch in branches)),
        tuple(dict.fromkeys(value for branch in branches for value in branch.values)),
        tuple(dict.fromkeys(phrase for branch in branches for phrase in branch.constraints)),
        next((branch.steps for branch in branches if branch.objects or branch.steps), ()),
        tuple(found for branch in branches for found in branch.objects),
    )


def _branch(schema: Schema, key: str) -> FieldType:
    kind = schema.get("type", "")
    if kind == "array":
        return _list(schema, key)
    if kind == "object":
        return _object(schema, key)
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    return FieldType(kind or "any value", tuple(map(str, values)), tuple(_scalar_constraints(schema)))


def _list(schema: Schema, key: str) -> FieldType:
    item = field_type(schema.get("items", {}), key)
    size = _range(schema, "minItems", "maxItems", "item")
    constraints = (*size, *(f"each {phrase}" for phrase in item.constraints))
    return FieldType(f"list of {_plural(item.name)}", item.values, constraints, ("[]", *item.steps), item.objects)


def _object(schema: Schema, key: str) -> FieldType:
    if "properties" in schema:
        const = schema["properties"].get("kind", {}).get("const", "")
        return FieldType("object", objects=((const, schema),))
    values = next(iter(schema.get("patternProperties", {}).values()), schema.get("additionalProperties"))
    item = field_type(values if isinstance(values, dict) else {}, key)
    size = _range(schema, "minProperties", "maxProperties", "entry")
    formats = (f"{key}: {PATTERNS[pattern][0]}" for pattern in schema.get("patternProperties", {}))
    constraints = (*size, *formats, *(f"each value {phrase}" for phrase in item.constraints))
    return FieldType(f"map of {key} to {item.name}", item.values, constraints, (key, *item.steps), item.objects)


def _scalar_constraints(schema: Schema) -> Iterator[str]:
    """Yield the range, the length and the format of a scalar."""
    if "exclusiveMinimum" in schema:
        yield f"greater than {schema['exclusiveMinimum']:,g}"
    yield from _range(schema, "minimum", "maximum")
    if "pattern" in schema:
        yield PATTERNS[schema["pattern"]][0]
    if schema.get("maxLength"):
        yield f"at most {schema['maxLength']:,} characters"


def _range(schema: Schema, least_key: str, most_key: str, noun: str = "") -> Iterator[str]:
    least, most = schema.get(least_key), schema.get(most_key)
    if least is None and most is None:
        return
    if most is None:
        amount = f"at least {least:,}"
    elif least is None:
        amount = f"at most {most:,}"
    else:
        amount = f"{least:,} to {most:,}"
    only_one = 1 in {least, most} and None in {least, most}
    yield f"{amount} {_counted(noun, one=only_one)}" if noun else amount


def _counted(noun: str, *, one: bool) -> str:
    return noun if one else {"entry": "entries"}.get(noun, f"{noun}s")


def _plural(name: str) -> str:
    return _PLURALS.get(name, name)
