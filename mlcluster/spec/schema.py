"""The JSON Schema of a spec, and what it says about one place: the known keys, the allowed shapes and words."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any, get_args

from pydantic import BaseModel

from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Loc

Schema = dict[str, Any]

SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"
SCHEMA_ID = "https://mlcluster.dev/schema/v1alpha1/cluster.schema.json"


@cache
def cluster_schema() -> Schema:
    """The JSON Schema of `cluster.yaml`: pydantic's, with dialect, ID, and `x-` keys allowed at the top for anchors."""
    schema = _tidy(_with_descriptions(ClusterSpec.model_json_schema(by_alias=True)))
    anchors = {"^x-": {"description": "A home for YAML anchors; mlcluster does not read it."}}
    return {"$schema": SCHEMA_DIALECT, "$id": SCHEMA_ID, **schema, "patternProperties": anchors}


def known_keys(loc: Loc, data: Any) -> dict[str, Schema]:
    """The keys that a mapping at `loc` may have, with their schemas; empty where every key is free.

    Args:
        loc: a path without union tags.
        data: the whole spec as data; its `kind` words choose between the branches of a union.
    """
    keys: dict[str, Schema] = {}
    for branch in _branches_at(loc, data):
        keys.update(branch.get("properties", {}))
    return keys


def described(loc: Loc, data: Any) -> str:
    """The first sentence of the description of `loc`, without its full stop; "" when there is none."""
    found = known_keys(loc[:-1], data).get(str(loc[-1]), {}) if loc else {}
    branches = [found, *_expanded(found, None)]
    text = next((str(branch["description"]) for branch in branches if "description" in branch), "")
    return " ".join(text.split("\n\n", maxsplit=1)[0].split()).removesuffix(".")


def allowed_words(loc: Loc, data: Any) -> list[str]:
    """The words that `loc` may be; empty when it is not a choice of words."""
    words: list[str] = []
    for branch in _branches_at(loc, data):
        words += map(str, branch.get("enum", []) or ([branch["const"]] if "const" in branch else []))
    return words


def allowed_shapes(loc: Loc, data: Any) -> list[str]:
    """What kinds of value `loc` may be besides words: "a list", "a mapping"."""
    names = {"array": "a list", "object": "a mapping"}
    found = [names.get(branch.get("type", ""), "") for branch in _branches_at(loc, data)]
    return [shape for shape in dict.fromkeys(found) if shape]


def _with_descriptions(schema: Schema) -> Schema:
    """The schema with what stands below each field of the models."""
    models = {model.__name__: model for model in _models(ClusterSpec, set())}
    for name, part in (*schema["$defs"].items(), (ClusterSpec.__name__, schema)):
        texts = _attribute_docstrings(models[name]) if name in models else {}
        for field, text in texts.items():
            alias = models[name].model_fields[field].alias or field
            part["properties"][alias] = {"description": text, **part["properties"][alias]}
    return schema


def _models(model: type[BaseModel], seen: set[type[BaseModel]]) -> set[type[BaseModel]]:
    """The model, and every one that its fields lead to."""
    if model not in seen:
        seen.add(model)
        for field in model.model_fields.values():
            for part in _parts(field.annotation):
                _models(part, seen)
    return seen


def _parts(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _parts(inner)


def _attribute_docstrings(model: type[BaseModel]) -> dict[str, str]:
    """Field -> the text below it, of the model and those that it derives from."""
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if not issubclass(base, BaseModel) or base is BaseModel:
            continue
        (body,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        statements = body.body if isinstance(body, ast.ClassDef) else []
        for field, below in pairwise(statements):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
                text = below.value.value if isinstance(below.value, ast.Constant) else None
                if isinstance(text, str):
                    found[field.target.id] = inspect.cleandoc(text)
    return found


def _tidy(node: Any) -> Any:
    """Without pydantic's titles, which repeat the keys; with keys closed where pydantic only gives their pattern."""
    if isinstance(node, list):
        return [_tidy(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {key: _tidy(value) for key, value in node.items() if key != "title" or not isinstance(value, str)}
    if "patternProperties" in kept:
        kept.setdefault("additionalProperties", False)
    return kept


def _branches_at(loc: Loc, data: Any) -> list[Schema]:
    branches = list(_expanded(cluster_schema(), data))
    for part in loc:
        data = _inside(data, part)
        branches = [
            branch for parent in branches for child in _children(parent, part) for branch in _expanded(child, data)
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


def _expanded(schema: Schema, data: Any) -> Iterator[Schema]:
    """The schema, or each branch of its unions, with references followed and branches of another `kind` left out."""
    if "$ref" in schema:
        yield from _expanded(cluster_schema()["$defs"][schema["$ref"].rsplit("/", 1)[1]], data)
        return
    parts = schema.get("oneOf") or schema.get("anyOf") or schema.get("allOf")
    if not parts:
        yield schema
        return
    for part in parts:
        yield from (branch for branch in _expanded(part, data) if _same_kind(branch, data))


def _same_kind(branch: Schema, data: Any) -> bool:
    const = branch.get("properties", {}).get("kind", {}).get("const")
    return const is None or not isinstance(data, dict) or data.get("kind") in (None, const)
