"""Generate docs/spec.md, the reference of every field of the spec, from the models."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from mlcluster.report.spec_fields import type_text
from mlcluster.spec.components.base import ChartComponent
from mlcluster.spec.field_reference import FieldReference, effective_default, in_yaml, spelled, top_fields
from mlcluster.spec.schema import SCHEMA_ID

_ANY_COMPONENT = "COMPONENT"
_COMMON = tuple(ChartComponent.model_fields)
"""The fields of every component, which the page describes once."""

_HEAD = f"""# Spec reference

Every field of a spec (`cluster.yaml`). `mlcluster explain-spec PATH` shows the same facts in a terminal, for example
`mlcluster explain-spec nodePools[].minSize`. This page is generated from the models in `mlcluster/spec` by
`pytest tests/golden/test_spec_page.py --update-golden`.

## How to read this page

- `[]` in a path stands for each item of a list. A word in capital letters stands for a key of a map:
  `teams[].guarantee.POOL.nodes` is set for each pool by its name.
- A field without "required" can be omitted. "Default: not set" means that the field has no effect until you set it.
- "Targets" lists the targets that support a field. Every target (`eks`, `existing`, `local`) supports the other fields.
- A quantity is a [Kubernetes quantity](https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/)
  such as `64Gi`. Quote numbers where a string is expected: `cpu: "8"`.
- Unknown fields are errors. Top-level keys that begin with `x-` are ignored; use them for YAML anchors.

## Editor support

The [JSON Schema](../examples/cluster.schema.json) of the spec gives editors completion, descriptions and checks. It is
in the repository as `examples/cluster.schema.json`; `mlcluster schema` prints the schema of the installed version.
Editors that use the YAML language server, such as VS Code with the YAML extension, read the path or URL of the schema
from the first line of the spec:

```yaml
# yaml-language-server: $schema=cluster.schema.json
apiVersion: mlcluster/v1alpha1
kind: Cluster
```

The `$id` of the schema is `{SCHEMA_ID}`. It stays the same for
`apiVersion: mlcluster/v1alpha1`. It is an identifier, not an address to download from.
"""


def spec_page() -> str:
    """Return the whole page as Markdown."""
    parts = [_HEAD, "## Contents\n", *_contents(), *(_section(field) for field in top_fields())]
    return "\n".join(parts)


def anchor(heading: str) -> str:
    """Return the anchor that GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def headings(fields: Iterable[FieldReference] | None = None) -> Iterator[str]:
    """Yield the heading of each field on the page; by default of every field of the spec."""
    for field in top_fields() if fields is None else fields:
        yield _heading(field)
        yield from headings(_own_fields(field))


def _contents() -> Iterator[str]:
    for field in top_fields():
        yield f"- [`{field.name}`](#{anchor(_heading(field))}): {_uncapitalized(field.description)}"
    yield ""


def _section(field: FieldReference) -> str:
    blocks = [f"## `{_heading(field)}`", *_body(field)]
    if field.key == "components":
        blocks += _common_fields(field)
    for inner in _own_fields(field):
        blocks += _blocks(inner)
    return "\n\n".join(blocks) + "\n"


def _blocks(field: FieldReference) -> Iterator[str]:
    yield f"### `{_heading(field)}`"
    yield from _body(field)
    for inner in _own_fields(field):
        yield from _blocks(inner)


def _body(field: FieldReference) -> Iterator[str]:
    yield field.description
    yield "\n".join(f"- {fact}" for fact in _facts(field))
    links = [f"[`{inner.key}`](#{anchor(_heading(inner))})" for inner in _own_fields(field)]
    common = [f"[`{key}`](#{anchor(spelled(('components', _ANY_COMPONENT, key)))})" for key in _COMMON]
    links += common if _is_component(field) else []
    if links:
        yield f"Fields: {', '.join(dict.fromkeys(links))}"


def _facts(field: FieldReference) -> Iterator[str]:
    yield f"Type: {type_text(field)}"
    if field.type.values:
        yield f"Values: {', '.join(f'`{value}`' for value in field.type.values)}"
    if field.doc.unit:
        yield f"Unit: {field.doc.unit}"
    default = effective_default(field)
    if field.required:
        yield "Required"
    elif default:
        yield f"Default: {default}" if field.doc.default or default in {"empty", "not set"} else f"Default: `{default}`"
    if not field.all_targets:
        yield f"Targets: {', '.join(f'`{target}`' for target in field.targets)}"
    if field.doc.example is not None:
        yield f"Example: `{field.key}: {in_yaml(field.doc.example)}`"


def _common_fields(components: FieldReference) -> Iterator[str]:
    """Yield the blocks of the fields that every component has."""
    one = next(field for field in components.fields if _is_component(field))
    for field in one.fields:
        if field.key in _COMMON:
            yield from _blocks(replace(field, path=("components", _ANY_COMPONENT, field.key)))


def _own_fields(field: FieldReference) -> list[FieldReference]:
    """Return the fields inside a field; of a component without those that every component has."""
    common = _COMMON if _is_component(field) else ()
    return [inner for inner in field.fields if inner.key not in common]


def _is_component(field: FieldReference) -> bool:
    return field.path[0] == "components" and {inner.key for inner in field.fields}.issuperset(_COMMON)


def _heading(field: FieldReference) -> str:
    """Return the path; with the targets where the field differs between targets."""
    differs = field.path == ("target", "zones")
    return f"{field.name} ({', '.join(field.targets)})" if differs else field.name


def _uncapitalized(text: str) -> str:
    return text[:1].lower() + text[1:] if text[1:2].islower() else text
