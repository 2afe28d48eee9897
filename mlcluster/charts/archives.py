"""Chart archives in a directory, with the file names of `helm pull`: NAME-VERSION.tgz."""

import re
import tarfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import semver
import yaml

from mlcluster.catalog.components import chart_name

_METADATA = re.compile(r"[^/]+/Chart\.yaml")
_METADATA_BYTES = 1 << 20
_NAME = re.compile(r"(?P<name>[a-z0-9][a-z0-9-]*?)-(?P<version>v?[0-9]+\.[0-9]+.*)\.tgz")


@dataclass(frozen=True, slots=True)
class Archive:
    """A chart archive; `version` comes from its file name."""

    path: Path
    name: str
    version: str


def archives(directory: Path) -> list[Archive]:
    """Return the archives of a directory, by name and file name."""
    found = [
        Archive(path, match["name"], match["version"])
        for path in sorted(directory.glob("*.tgz"))
        if (match := _NAME.fullmatch(path.name)) and path.is_file()
    ]
    return sorted(found, key=lambda one: one.name)


def packed_chart(archive: Archive) -> tuple[str, str] | None:
    """Return name and version of the chart in an archive, from its Chart.yaml; None if that cannot be read."""
    try:
        with tarfile.open(archive.path, "r:gz") as tar:
            for member in tar:
                if _METADATA.fullmatch(member.name) and member.isfile() and member.size <= _METADATA_BYTES:
                    found = yaml.load(tar.extractfile(member) or b"", yaml.CSafeLoader)
                    return str(found["name"]), str(found["version"])
    except (OSError, EOFError, zlib.error, tarfile.TarError, yaml.YAMLError, KeyError, TypeError):
        return None
    return None


def exact(known: Iterable[Archive], chart: str, version: str) -> Archive | None:
    """Return the archive of a chart at a version, with or without a leading v; None if there is none.

    Args:
        chart: name of the chart, or its OCI reference.
    """
    name = chart_name(chart)
    return next((one for one in known if one.name == name and plain(one.version) == plain(version)), None)


def nearest(known: Iterable[Archive], chart: str, version: str) -> Archive | None:
    """Return the archive of a chart whose version is nearest to `version`: the same minor before the same major.

    Returns:
        The archive, or None if there is no archive of the chart.
    """
    name = chart_name(chart)
    mine = [one for one in known if one.name == name]
    return min(mine, key=lambda one: _distance(one.version, version), default=None)


def plain(version: str) -> str:
    """Return a version without its leading v."""
    return version.removeprefix("v")


def _distance(one: str, other: str) -> tuple[int, int, int]:
    first, second = (semver.Version.parse(plain(text), optional_minor_and_patch=True) for text in (one, other))
    parts = ((first.major, second.major), (first.minor, second.minor), (first.patch, second.patch))
    major, minor, patch = (abs(a - b) for a, b in parts)
    return major, minor, patch
