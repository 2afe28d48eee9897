"""What the archives of charts hold, unrendered: files, Chart.yaml, CRDs. They are read, never copied here."""

import tarfile
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import yaml
from jsonschema import Draft4Validator

from mlcluster.charts.archives import Archive, exact
from mlcluster.plan.model import Manifest
from tests.charts.sources import at_hand
from tests.upstream import Kind, closed


def archive_of(chart: str, version: str) -> Archive:
    """Return the archive of a chart at a version.

    Args:
        chart: name of the chart, or its OCI reference.

    Raises:
        LookupError: it is not on this machine, though others may be.
    """
    found = exact(at_hand(), chart, version)
    if found is None:
        raise LookupError(f"no archive of {chart} {version} at hand: run `make charts` to pull it with helm")
    return found


def files(archive: Archive) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of every file of an archive."""
    with tarfile.open(archive.path) as opened:
        for member in opened:
            content = opened.extractfile(member) if member.isfile() else None
            if content is not None:
                yield member.name, content.read()


@cache
def metadata(archive: Archive) -> Mapping[str, Any]:
    """Return the Chart.yaml of an archive's own chart."""
    found: Mapping[str, Any] = next(
        yaml.safe_load(text) for name, text in files(archive) if name.count("/") == 1 and name.endswith("/Chart.yaml")
    )
    return found


def schemas_of(archive: Archive) -> dict[Kind, dict[str, Any]]:
    """Return (apiVersion, kind) -> schema in which unknown fields are refused, of the CRDs among a chart's files."""
    found: dict[Kind, dict[str, Any]] = {}
    for name, text in files(archive):
        if b"CustomResourceDefinition" not in text or not name.endswith((".yaml", ".yml")) or b"{{" in text[:2000]:
            continue
        for document in yaml.load_all(text, yaml.CSafeLoader):
            if not document or document.get("kind") != "CustomResourceDefinition":
                continue
            spec = document["spec"]
            for served in spec["versions"]:
                kind = (f"{spec['group']}/{served['name']}", spec["names"]["kind"])
                found[kind] = closed(served["schema"]["openAPIV3Schema"])
    return found


def errors_of(manifest: Manifest, schemas: Mapping[Kind, dict[str, Any]]) -> list[str]:
    """Return what the CRD of an object says against it.

    Raises:
        KeyError: no CRD of its kind is among the schemas.
    """
    schema = schemas[manifest["apiVersion"], manifest["kind"]]
    return [f"{error.json_path}: {error.message}" for error in Draft4Validator(schema).iter_errors(manifest)]
