"""Upstream's packaged charts in ../shared/reference/chart-archives: what their metadata and files hold.

They are read, never copied here. The version in the name of an archive is the release that its tree belongs to.
"""

import re
import tarfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft4Validator

from mlcluster.catalog.components import ComponentPin
from mlcluster.rules.upgrades import chart_name
from tests.upstream import closed

ARCHIVES = Path(__file__).parents[2] / "shared" / "reference" / "chart-archives"
ABSENT = "no chart archives in ../shared/reference/chart-archives: pins and webhooks are not compared with them"
_NAMED = re.compile(r"(?P<chart>.+?)-(?P<version>v?\d+\.\d+\.\d+[^/]*)\.tgz")


@cache
def archives() -> Mapping[tuple[str, str], Path]:
    """Return the archives by name and version of the chart."""
    found = {}
    for path in sorted(ARCHIVES.glob("*.tgz")):
        named = _NAMED.fullmatch(path.name)
        assert named is not None, path.name
        found[named["chart"], named["version"]] = path
    return found


def versions_at_hand(pin: ComponentPin) -> list[str]:
    """Return the versions of a pin's chart that are at hand."""
    return [version for chart, version in archives() if chart == chart_name(pin.chart)]


@cache
def metadata(archive: Path) -> Mapping[str, Any]:
    """Return the Chart.yaml of an archive's own chart."""
    found: Mapping[str, Any] = next(
        yaml.safe_load(text) for name, text in files(archive) if name.count("/") == 1 and name.endswith("/Chart.yaml")
    )
    return found


def files(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of every file of an archive."""
    with tarfile.open(archive) as opened:
        for member in opened:
            content = opened.extractfile(member) if member.isfile() else None
            if content is not None:
                yield member.name, content.read()


def schemas_of(chart: str, version: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Return (apiVersion, kind) -> schema in which unknown fields are refused, of the CRDs among a chart's files."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for name, text in files(archives()[chart, version]):
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


def errors_of(manifest: Mapping[str, Any], schemas: Mapping[tuple[str, str], dict[str, Any]]) -> list[str]:
    """Return what the CRD of an object says against it.

    Raises:
        KeyError: no CRD of its kind is among the schemas.
    """
    schema = schemas[manifest["apiVersion"], manifest["kind"]]
    return [f"{error.json_path}: {error.message}" for error in Draft4Validator(schema).iter_errors(manifest)]
