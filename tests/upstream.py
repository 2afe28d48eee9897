"""Upstream's own files in ../shared/reference: CRDs and chart values. They are read, never copied here."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft4Validator

from mlcluster.plan.model import Manifest

REFERENCE = Path(__file__).parents[2] / "shared" / "reference"
ABSENT = "upstream's CRDs and values are not in ../shared/reference: nothing is compared with them"
_OF_PIN = {"kueue": "values-v0.18.3.yaml"}
_OTHER_PINS = frozenset({"kueue"})
"""Folders of CRDs of a version that is not pinned."""

_FREE_FORM = {"cluster-autoscaler": frozenset({"extraArgs"})}
"""Mappings of a chart that take any key, although they are not empty."""

_NODE_SELECTOR = "nodeSelector"
"""Its keys are labels of nodes, whatever the chart has there by default."""

_OF_SUBCHARTS = frozenset(
    {f"node-feature-discovery.{part}.{key}" for part in ("master", "gc") for key in ("tolerations", _NODE_SELECTOR)}
)
"""What only the values of a chart inside the chart have: node-feature-discovery 0.19.0."""

Kind = tuple[str, str]


@cache
def schemas() -> Mapping[Kind, dict[str, Any]]:
    """(apiVersion, kind) -> schema in which unknown fields are refused, for every CRD of a pinned version."""
    found: dict[Kind, dict[str, Any]] = {}
    for path in sorted((REFERENCE / "crds").glob("*/*.yaml")):
        if path.parent.name in _OTHER_PINS:
            continue
        for document in yaml.load_all(path.read_bytes(), yaml.CSafeLoader):
            spec = (document or {}).get("spec") or {}
            for version in spec.get("versions", []):
                kind = (f"{spec['group']}/{version['name']}", spec["names"]["kind"])
                found[kind] = closed(version["schema"]["openAPIV3Schema"])
    return found


def closed(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with every unknown field refused, as the API server's strict validation does.

    `metadata` is the API server's own; where the schema says that it preserves unknown fields, they stay allowed.
    `x-kubernetes-int-or-string` comes with an `anyOf` that says the same.
    """
    made = dict(schema)
    if "properties" in schema:
        made["properties"] = {name: closed(part) for name, part in schema["properties"].items()}
        preserved = schema.get("x-kubernetes-preserve-unknown-fields")
        if not preserved and "additionalProperties" not in schema:
            made["additionalProperties"] = False
    if isinstance(schema.get("items"), dict):
        made["items"] = closed(schema["items"])
    if isinstance(schema.get("additionalProperties"), dict):
        made["additionalProperties"] = closed(schema["additionalProperties"])
    return made


def errors_of(manifest: Manifest) -> list[str]:
    """What the CRD of an object says against it.

    Raises:
        KeyError: no CRD of its kind is known.
    """
    schema = schemas()[manifest["apiVersion"], manifest["kind"]]
    return [f"{error.json_path}: {error.message}" for error in Draft4Validator(schema).iter_errors(manifest)]


def has_values(chart: str) -> bool:
    """Whether the values of a chart can be compared."""
    return _values_file(chart).is_file()


def unknown_values(chart: str, ours: Mapping[str, Any]) -> list[str]:
    """Paths of our values that the chart does not have.

    An empty mapping, a null and what stands only in a comment are free-form; a list is the chart's as a whole.
    """
    text = _values_file(chart).read_text("utf-8")
    ours = {key: value for key, value in ours.items() if key not in _FREE_FORM.get(chart, ())}
    found = _unknown(ours, yaml.load(text, yaml.CSafeLoader), _commented(text), "")
    return [path for path in found if path not in _OF_SUBCHARTS]


def _values_file(chart: str) -> Path:
    return REFERENCE / "charts" / chart / _OF_PIN.get(chart, "values.yaml")


@cache
def _commented(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"^\s*#\s*([A-Za-z][\w.-]*):", text, re.MULTILINE))


def _unknown(
    ours: Mapping[str, Any], theirs: Mapping[str, Any], commented: frozenset[str], above: str
) -> Iterator[str]:
    for key, value in ours.items():
        path = f"{above}.{key}" if above else key
        if key not in theirs:
            if key not in commented:
                yield path
        elif isinstance(value, dict) and isinstance(theirs[key], dict) and theirs[key] and key != _NODE_SELECTOR:
            yield from _unknown(value, theirs[key], commented, path)
