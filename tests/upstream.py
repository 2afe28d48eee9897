"""Upstream's own files in ../shared/reference: CRDs and chart values. Tests read them; the project holds no copy."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft4Validator

from mlcluster.catalog.pins import KUEUE
from mlcluster.plan.model import Manifest

REFERENCE = Path(__file__).parents[2] / "shared" / "reference"
needs_reference = pytest.mark.skipif(
    not REFERENCE.is_dir(), reason="Expected without ../shared/reference: there are no upstream files to compare with"
)
"""For a test that reads files in REFERENCE. If the directory exists, a file that is missing in it fails the test."""

_KUEUE_CRDS = f"kueue-{KUEUE.version}"
_KUEUE_VALUES = f"values-v{KUEUE.version}.yaml"

_FREE_FORM = {"cluster-autoscaler": frozenset({"extraArgs"})}
"""Mappings of a chart that take any key although they are not empty."""

_NODE_SELECTOR = "nodeSelector"
"""A mapping whose keys are labels of nodes, independent of the default of the chart."""

_OF_SUBCHARTS = frozenset(
    {f"node-feature-discovery.{part}.{key}" for part in ("master", "gc") for key in ("tolerations", _NODE_SELECTOR)}
)
"""Values that only a subchart has (node-feature-discovery 0.19.0)."""

Kind = tuple[str, str]


@cache
def schemas() -> Mapping[Kind, dict[str, Any]]:
    """Return (apiVersion, kind) -> schema that rejects unknown fields, for every CRD of a pinned version."""
    found: dict[Kind, dict[str, Any]] = {}
    for path in sorted((REFERENCE / "crds").glob("*/*.yaml")):
        if path.parent.name.startswith("kueue") and path.parent.name != _KUEUE_CRDS:
            continue
        for document in yaml.load_all(path.read_bytes(), yaml.CSafeLoader):
            spec = (document or {}).get("spec") or {}
            for version in spec.get("versions", []):
                kind = (f"{spec['group']}/{version['name']}", spec["names"]["kind"])
                found[kind] = closed(version["schema"]["openAPIV3Schema"])
    return found


def closed(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with unknown fields rejected, as by the strict validation of the API server.

    The API server validates `metadata` itself. Unknown fields stay allowed where the schema preserves them.
    `x-kubernetes-int-or-string` always comes with an equivalent `anyOf`.
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


def errors_of(manifest: Manifest, known: Mapping[Kind, dict[str, Any]] | None = None) -> list[str]:
    """Return the errors of an object against the schema of its CRD.

    Args:
        known: the schemas, by default those of all CRDs in REFERENCE.

    Raises:
        KeyError: the schemas have none for the kind.
    """
    schema = (schemas() if known is None else known)[manifest["apiVersion"], manifest["kind"]]
    return [f"{error.json_path}: {error.message}" for error in Draft4Validator(schema).iter_errors(manifest)]


def has_values(chart: str) -> bool:
    """Return whether REFERENCE has the values of a chart."""
    return _values_file(chart).is_file()


def unknown_values(chart: str, ours: Mapping[str, Any]) -> list[str]:
    """Return the paths of values in the plan that the chart does not have.

    An empty mapping, a null and a key that occurs only in a comment take any value; lists are not compared.
    """
    text = _values_file(chart).read_text("utf-8")
    ours = {key: value for key, value in ours.items() if key not in _FREE_FORM.get(chart, ())}
    found = _unknown(ours, yaml.load(text, yaml.CSafeLoader), _commented(text), "")
    return [path for path in found if path not in _OF_SUBCHARTS]


def chart_values(chart: str) -> dict[str, Any]:
    """Return the default values of a chart."""
    found: dict[str, Any] = yaml.load(_values_file(chart).read_bytes(), yaml.CSafeLoader)
    return found


def missing_values(ours: Mapping[str, Any], theirs: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """Yield the paths of values that are not among the default values of a chart; only `{}` takes any key."""
    for key, value in ours.items():
        path = f"{above}.{key}" if above else key
        if key not in theirs:
            yield path
        elif isinstance(value, dict) and theirs[key] != {}:
            yield from missing_values(value, theirs[key] if isinstance(theirs[key], dict) else {}, path)


def _values_file(chart: str) -> Path:
    return REFERENCE / "charts" / chart / (_KUEUE_VALUES if chart == "kueue" else "values.yaml")


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
