"""Match discovered objects to known components by their detection signatures."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal

from mlcluster.catalog.signs import Signs
from mlcluster.rules.cluster_facts import Maker, Named, Release, Seen, Workload

VersionKind = Literal["chart", "image", ""]
_VERSION = re.compile(r"-(v?\d+\.\d.*)$")
_OF_RECORD, _OF_LABEL, _OF_APP, _OF_IMAGE = 0, 1, 2, 3


@dataclass(frozen=True, slots=True)
class Found:
    """One installation of one thing.

    Attributes:
        name: of the component or neighbour.
        maker: who made it.
        part_of: the component whose operator made it, "" where none did.
        version: "" where nothing tells.
        version_kind: of a chart, or of the program that runs.
        where: the object that it was recognised by, e.g. "DaemonSet kube-system/nvidia-device-plugin".
        running: something acts there; only definitions are left of it otherwise.
        workloads: Deployments and DaemonSets of it were seen.
    """

    name: str
    maker: Maker
    part_of: str
    version: str
    version_kind: VersionKind
    where: str
    running: bool
    workloads: bool


@dataclass(slots=True)
class _Gathering:
    """What fits one thing of one maker."""

    evidence: list[str] = field(default_factory=list)
    versions: list[tuple[int, str]] = field(default_factory=list)
    running: bool = False
    workloads: bool = False


def recognise(seen: Seen, signs: Mapping[str, Signs]) -> tuple[Found, ...]:
    """Every installation that fits some signs, by name."""
    made: dict[tuple[str, Maker], _Gathering] = {}
    for name, maker, text, versions, is_workload in _acting(seen, signs):
        entry = made.setdefault((name, maker), _Gathering())
        entry.evidence.append(text)
        entry.versions += versions
        entry.running = True
        entry.workloads = entry.workloads or is_workload
    acting = {name for name, _ in made}
    for name, named in _definitions(seen, signs):
        if name not in acting:
            made.setdefault((name, named.maker), _Gathering()).evidence.append(named.text)
    mains = {_helm(release): name for release in seen.releases for name in _of_chart(release, signs)}
    return tuple(_found(key, entry, signs, mains) for key, entry in sorted(made.items(), key=_order))


def version_of_label(label: str) -> str:
    """26.7.0 of the chart label "gpu-operator-v26.7.0"; "" for what is none. Charts write + as _."""
    parsed = _VERSION.search(label)
    return parsed[1].replace("_", "+") if parsed else ""


def image_parts(image: str) -> tuple[str, str]:
    """Repository and tag of an image reference; the tag is "" for a digest alone."""
    name = image.partition("@")[0]
    head, separator, tag = name.rpartition(":")
    return (head, tag) if separator and "/" not in tag else (name, "")


_Fact = tuple[str, Maker, str, list[tuple[int, str]], bool]


def _acting(seen: Seen, signs: Mapping[str, Signs]) -> Iterator[_Fact]:
    """Releases, workloads, webhooks and API services: things that do something."""
    for release in seen.releases:
        for name in _of_chart(release, signs):
            yield name, _helm(release), _helm(release).text, _versions(release), False
    for workload in seen.workloads:
        name = _of_workload(workload, signs)
        if name:
            yield name, workload.maker, workload.text, _workload_versions(workload, signs[name]), True
    for named in (*seen.webhooks, *seen.api_services):
        for name, entry in signs.items():
            patterns = entry.api_services if named.kind == "APIService" else entry.webhooks
            if _fits(named.name, patterns):
                yield name, named.maker, named.text, _label_versions(named.chart, named.version), False


def _of_chart(release: Release, signs: Mapping[str, Signs]) -> list[str]:
    return [name for name, entry in signs.items() if release.chart in entry.charts] if release.chart else []


def _of_workload(workload: Workload, signs: Mapping[str, Signs]) -> str:
    """By its name, which tells more: one image holds the device plugin and GPU feature discovery; else by an image."""
    for name, entry in signs.items():
        if _fits(workload.name, entry.workloads):
            return name
    repositories = [image_parts(image)[0] for image in workload.images]
    for name, entry in signs.items():
        if any(_ends(repository, end) for repository in repositories for end in entry.images):
            return name
    return ""


def _definitions(seen: Seen, signs: Mapping[str, Signs]) -> Iterator[tuple[str, Named]]:
    for named in seen.definitions:
        for name, entry in signs.items():
            if named.name in entry.definitions:
                yield name, named


def _found(key: tuple[str, Maker], entry: _Gathering, signs: Mapping[str, Signs], mains: Mapping[Maker, str]) -> Found:
    name, maker = key
    rank, version = min(entry.versions, key=lambda pair: pair[0], default=(_OF_IMAGE, ""))
    kind: VersionKind = "" if not version else "chart" if rank <= _OF_LABEL else "image"
    part_of = mains.get(maker, "")
    if maker.kind == "controller":
        full = f"{maker.name.partition('/')[0]}.{maker.group}"
        part_of = next((other for other, mark in signs.items() if full in mark.makers), "")
    shown = "" if part_of == name else part_of
    return Found(name, maker, shown, version, kind, entry.evidence[0], entry.running, entry.workloads)


def _versions(release: Release) -> list[tuple[int, str]]:
    return [(_OF_RECORD, release.version)] if release.version else []


def _workload_versions(workload: Workload, entry: Signs) -> list[tuple[int, str]]:
    found = _label_versions(workload.chart if _is_chart_of(workload.chart, entry) else "", workload.version)
    tags = [image_parts(image) for image in workload.images]
    return found + [
        (_OF_IMAGE, tag) for repository, tag in tags if tag and any(_ends(repository, e) for e in entry.images)
    ]


def _is_chart_of(label: str, entry: Signs) -> bool:
    """A workload of a subchart carries the label of the chart that it is in, or of the whole."""
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


def _order(item: tuple[tuple[str, Maker], _Gathering]) -> tuple[str, str, str, str]:
    (name, maker), _ = item
    return name, maker.kind, maker.namespace, maker.name
