"""Match discovered objects to known components by their detection signatures."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal

from mlcluster.catalog.signatures import Signature
from mlcluster.rules.cluster_facts import Maker, Named, Release, Seen, Workload

VersionKind = Literal["chart", "image", ""]
_VERSION = re.compile(r"-(v?\d+\.\d.*)$")
_OF_RECORD, _OF_LABEL, _OF_APP, _OF_IMAGE = 0, 1, 2, 3


@dataclass(frozen=True, slots=True)
class Installation:
    """One installation of a component or neighbour.

    Attributes:
        name: of the component or neighbour.
        maker: the tool or controller that installed it.
        part_of: the component whose operator created it; "" if none did.
        version: "" if unknown.
        version_kind: whether `version` is that of a chart or of an image.
        where: the object that matched, e.g. "DaemonSet kube-system/nvidia-device-plugin".
        running: it has more than CRDs.
        workloads: it has Deployments or DaemonSets.
        crd: the CRD that matched, if only CRDs are left of it; "" else.
    """

    name: str
    maker: Maker
    part_of: str
    version: str
    version_kind: VersionKind
    where: str
    running: bool
    workloads: bool
    crd: str = ""


@dataclass(slots=True)
class _Gathering:
    """Objects that match one signature and have the same maker."""

    evidence: list[str] = field(default_factory=list)
    versions: list[tuple[int, str]] = field(default_factory=list)
    running: bool = False
    workloads: bool = False
    crds: list[str] = field(default_factory=list)


def match_signatures(seen: Seen, signatures: Mapping[str, Signature]) -> tuple[Installation, ...]:
    """Return every installation that matches a signature, sorted by name."""
    made: dict[tuple[str, Maker], _Gathering] = {}
    for name, maker, text, versions, is_workload in _acting(seen, signatures):
        entry = made.setdefault((name, maker), _Gathering())
        entry.evidence.append(text)
        entry.versions += versions
        entry.running = True
        entry.workloads = entry.workloads or is_workload
    acting = {name for name, _ in made}
    for name, named in _crds(seen, signatures):
        if name not in acting:
            entry = made.setdefault((name, named.maker), _Gathering())
            entry.evidence.append(named.text)
            entry.crds.append(named.name)
    mains = {_helm(release): name for release in seen.releases for name in _of_chart(release, signatures)}
    return tuple(_installation(key, entry, signatures, mains) for key, entry in sorted(made.items(), key=_order))


def version_of_label(label: str) -> str:
    """Return the version in a chart label: 26.7.0 of "gpu-operator-v26.7.0", "" if none. Charts write + as _."""
    parsed = _VERSION.search(label)
    return parsed[1].replace("_", "+") if parsed else ""


def image_parts(image: str) -> tuple[str, str]:
    """Return the repository and the tag of an image reference; the tag is "" if it has only a digest."""
    name = image.partition("@")[0]
    head, separator, tag = name.rpartition(":")
    return (head, tag) if separator and "/" not in tag else (name, "")


_Fact = tuple[str, Maker, str, list[tuple[int, str]], bool]


def _acting(seen: Seen, signatures: Mapping[str, Signature]) -> Iterator[_Fact]:
    """Yield the releases, workloads, webhooks and APIServices that match."""
    for release in seen.releases:
        for name in _of_chart(release, signatures):
            yield name, _helm(release), _helm(release).text, _versions(release), False
    for workload in seen.workloads:
        name = _of_workload(workload, signatures)
        if name:
            yield name, workload.maker, workload.text, _workload_versions(workload, signatures[name]), True
    for named in (*seen.webhooks, *seen.api_services):
        for name, entry in signatures.items():
            patterns = entry.api_services if named.kind == "APIService" else entry.webhooks
            if _fits(named.name, patterns):
                yield name, named.maker, named.text, _label_versions(named.chart, named.version), False


def _of_chart(release: Release, signatures: Mapping[str, Signature]) -> list[str]:
    return [name for name, entry in signatures.items() if release.chart in entry.charts] if release.chart else []


def _of_workload(workload: Workload, signatures: Mapping[str, Signature]) -> str:
    """Match by name first: one image contains the device plugin and GPU feature discovery. Then by image."""
    for name, entry in signatures.items():
        if _fits(workload.name, entry.workloads):
            return name
    repositories = [image_parts(image)[0] for image in workload.images]
    for name, entry in signatures.items():
        if any(_ends(repository, end) for repository in repositories for end in entry.images):
            return name
    return ""


def _crds(seen: Seen, signatures: Mapping[str, Signature]) -> Iterator[tuple[str, Named]]:
    for named in seen.crds:
        for name, entry in signatures.items():
            if named.name in entry.crds:
                yield name, named


def _installation(
    key: tuple[str, Maker], entry: _Gathering, signatures: Mapping[str, Signature], mains: Mapping[Maker, str]
) -> Installation:
    name, maker = key
    rank, version = min(entry.versions, key=lambda pair: pair[0], default=(_OF_IMAGE, ""))
    kind: VersionKind = "" if not version else "chart" if rank <= _OF_LABEL else "image"
    part_of = mains.get(maker, "")
    if maker.kind == "controller":
        full = f"{maker.owner_kind}.{maker.group}"
        part_of = next((other for other, mark in signatures.items() if full in mark.makers), "")
    shown = "" if part_of == name else part_of
    where, crd = entry.evidence[0], next(iter(entry.crds), "")
    return Installation(name, maker, shown, version, kind, where, entry.running, entry.workloads, crd)


def _versions(release: Release) -> list[tuple[int, str]]:
    return [(_OF_RECORD, release.version)] if release.version else []


def _workload_versions(workload: Workload, entry: Signature) -> list[tuple[int, str]]:
    found = _label_versions(workload.chart if _is_chart_of(workload.chart, entry) else "", workload.version)
    tags = [image_parts(image) for image in workload.images]
    return found + [
        (_OF_IMAGE, tag) for repository, tag in tags if tag and any(_ends(repository, e) for e in entry.images)
    ]


def _is_chart_of(label: str, entry: Signature) -> bool:
    """Return whether a chart label names one of the charts; a subchart has its own label, or that of its parent."""
    return any(label.startswith(f"{chart}-") for chart in entry.charts)


def _label_versions(chart: str, version: str) -> list[tuple[int, str]]:
    of_chart = version_of_label(chart)
    return [*([(_OF_LABEL, of_chart)] if of_chart else []), *([(_OF_APP, version)] if version else [])]


def _helm(release: Release) -> Maker:
    return Maker("helm", release.name, release.namespace)


def _fits(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _ends(repository: str, end: str) -> bool:
    return repository == end or repository.endswith(f"/{end}")


def _order(item: tuple[tuple[str, Maker], _Gathering]) -> tuple[str, str, str, str, str]:
    (name, maker), _ = item
    return name, maker.kind, maker.namespace, maker.owner_kind, maker.name
