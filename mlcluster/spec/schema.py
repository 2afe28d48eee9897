"""The JSON Schema of the spec, and queries on it: the known keys of a mapping, the allowed types and words."""

from collections.abc import Iterator
from functools import cache
from typing import Any

from mlcluster.spec.base import Doc, doc_of
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Loc
from mlcluster.spec.field_docs import field_descriptions, spec_models

Schema = dict[str, Any]

SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"
SCHEMA_ID = "https://mlcluster.dev/schema/v1alpha1/cluster.schema.json"
"""A stable identifier of the format, not the address of a server."""

FACTS = "x-mlcluster"
"""The keyword of `annotated_schema` for facts that JSON Schema has no keyword for."""


@cache
def cluster_schema() -> Schema:
    """Return the JSON Schema of `cluster.yaml` for editors and validators.

    Top-level keys that begin with `x-` are allowed, as a place for YAML anchors.
    """
    schema: Schema = _published(annotated_schema())
    anchors = {"^x-": {"description": "A place for YAML anchors, which mlcluster ignores."}}
    return {"$schema": SCHEMA_DIALECT, "$id": SCHEMA_ID, **schema, "patternProperties": anchors}


@cache
def annotated_schema() -> Schema:
    """Return the JSON Schema of the models with the descriptions of the fields, their examples and their facts."""
    schema: Schema = _tidy(ClusterSpec.model_json_schema(by_alias=True))
    for name, part in (*schema["$defs"].items(), (ClusterSpec.__name__, schema)):
        if name in spec_models():
            _describe(name, part["properties"])
    return schema


def known_keys(loc: Loc, data: Any) -> dict[str, Schema]:
    """Return the keys that a mapping at `loc` can have, with their schemas; empty if it can have any key.

    Args:
        loc: a path without union tags.
        data: the whole spec as data. Its `kind` values select the branches of unions.
    """
    keys: dict[str, Schema] = {}
    for branch in _branches_at(loc, data):
        keys.update(branch.get("properties", {}))
    return keys


def described(loc: Loc, data: Any) -> str:
    """Return the first sentence of the description of `loc` without its full stop; "" without a description."""
    found = known_keys(loc[:-1], data).get(str(loc[-1]), {}) if loc else {}
    branches = [found, *expanded(found, None)]
    text = next((str(branch["description"]) for branch in branches if "description" in branch), "")
    return first_sentence(text).removesuffix(".")


def first_sentence(text: str) -> str:
    """Return the first sentence of a description."""
    return text.partition(". ")[0].removesuffix(".") + "." if text else ""


def allowed_words(loc: Loc, data: Any) -> list[str]:
    """Return the words that the value at `loc` can be; empty if it is not a choice of words."""
    words: list[str] = []
    for branch in _branches_at(loc, data):
        words += map(str, branch.get("enum", []) or ([branch["const"]] if "const" in branch else []))
    return words


def allowed_shapes(loc: Loc, data: Any) -> list[str]:
    """Return the kinds of value besides words that `loc` can be: "a list", "a mapping"."""
    names = {"array": "a list", "object": "a mapping"}
    found = [names.get(branch.get("type", ""), "") for branch in _branches_at(loc, data)]
    return [shape for shape in dict.fromkeys(found) if shape]


def expanded(schema: Schema, data: Any) -> Iterator[Schema]:
    """Yield the schema, or each branch of its unions.

    References are resolved. Branches for another `kind` than the one in `data` are left out.
    """
    if "$ref" in schema:
        yield from expanded(annotated_schema()["$defs"][schema["$ref"].rsplit("/", 1)[1]], data)
        return
    parts = schema.get("oneOf") or schema.get("anyOf") or schema.get("allOf")
    if not parts:
        yield schema
        return
    for part in parts:
        yield from (branch for branch in expanded(part, data) if _same_kind(branch, data))


def _describe(model: str, properties: Schema) -> None:
    """Add the description, the example and the facts of each field of a model to its JSON Schema properties."""
    fields = spec_models()[model].model_fields
    descriptions = field_descriptions(spec_models()[model])
    for name, field in fields.items():
        key, doc = field.alias or name, doc_of(field)
        described_as = {"description": descriptions[name]} if name in descriptions else {}
        examples = {} if doc.example is None else {"examples": [doc.example]}
        facts = {part: value for part in ("unit", "default", "targets", "key") if (value := getattr(doc, part))}
        properties[key] = {**described_as, **properties[key], **examples, **({FACTS: facts} if facts else {})}


def _published(node: Any) -> Any:
    """Return the schema with the facts of each field in its description, which editors show."""
    if isinstance(node, list):
        return [_published(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {key: _published(value) for key, value in node.items() if key != FACTS}
    if isinstance(node.get("description"), str) and isinstance(node.get(FACTS), dict):
        kept["description"] = " ".join([node["description"], *_sentences(Doc(**node[FACTS]))])
    return kept


def _sentences(doc: Doc) -> Iterator[str]:
    """Yield the facts of a field as sentences."""
    if doc.default:
        yield f"Default: {doc.default}."
    if doc.unit:
        yield f"Unit: {doc.unit}."
    if doc.targets:
        yield f"Only on {' and '.join(f'`{target}`' for target in doc.targets)}."


def _tidy(node: Any) -> Any:
    """Return the schema without pydantic's titles, which repeat the keys, and with maps closed to other keys.

    Pydantic gives the pattern of the keys of a map, but allows other keys, too.
    """
    if isinstance(node, list):
        return [_tidy(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {key: _tidy(value) for key, value in node.items() if key != "title" or not isinstance(value, str)}
    if "patternProperties" in kept:
        kept.setdefault("additionalProperties", False)
    return kept


def _branches_at(loc: Loc, data: Any) -> list[Schema]:
    branches = list(expanded(annotated_schema(), data))
    for part in loc:
        data = _inside(data, part)
        branches = [
            branch for parent in branches for child in _children(parent, part) for branch in expanded(child, data)
        ]
    return branches


def _inside(data: Any, part: str | int) -> Any:
    if isinstance(data, dict):
        return data.get(part)
    return data[part] if isinstance(data, list) and isinstance(part, int) and part < len(data) else None


def _children(schema: Schema, part: str | int) -> Iterator[Schema]:
    if isinstance(part, int):
        if isinstance(schema.get("items"), dict):
            yield schema["items"]
        return
    if part in schema.get("properties", {}):
        yield schema["properties"][part]
        return
    if isinstance(schema.get("additionalProperties"), dict):
        yield schema["additionalProperties"]
    yield from schema.get("patternProperties", {}).values()


def _same_kind(branch: Schema, data: Any) -> bool:
    const = branch.get("properties", {}).get("kind", {}).get("const")
    return const is None or not isinstance(data, dict) or data.get("kind") in (None, const)
