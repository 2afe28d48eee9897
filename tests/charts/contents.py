"""Files of chart archives, unrendered: values, Chart.yaml, CRDs. Tests read them; the project holds no copy."""

import tarfile
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import yaml

from mlcluster.catalog.components import chart_name
from mlcluster.charts.archives import Archive, exact
from tests.charts.archive_versions import DIFFERENT
from tests.charts.sources import at_hand
from tests.upstream import Kind, closed


def archive_of(chart: str, version: str) -> Archive:
    """Return the archive of a chart at a version, or at the version that `archive_versions` records instead.

    Args:
        chart: name of the chart, or its OCI reference.

    Raises:
        LookupError: this machine does not have it.
    """
    pinned, recorded = DIFFERENT.get(chart_name(chart), ("", ""))
    found = exact(at_hand(), chart, version)
    if found is None and version == pinned:
        found = exact(at_hand(), chart, recorded)
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
def values(archive: Archive) -> Mapping[str, Any]:
    """Return the default values of an archive's own chart."""
    return _own(archive, "values.yaml")


@cache
def metadata(archive: Archive) -> Mapping[str, Any]:
    """Return the Chart.yaml of an archive's own chart."""
    return _own(archive, "Chart.yaml")


def _own(archive: Archive, file: str) -> Mapping[str, Any]:
    """Return a file at the top of a chart, {} if it is empty or absent."""
    found = (text for name, text in files(archive) if name.count("/") == 1 and name.endswith(f"/{file}"))
    return yaml.load(next(found, b""), yaml.CSafeLoader) or {}


def schemas_of(archive: Archive) -> dict[Kind, dict[str, Any]]:
    """Return (apiVersion, kind) -> schema that rejects unknown fields, for the CRDs among the files of a chart."""
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
