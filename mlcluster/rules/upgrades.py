"""Risk of a step between two versions of a component: safe, manual or blocked.

The catalog's records describe known steps. Without a record, a patch or a minor version is safe; a major version, a
downgrade and a version that cannot be compared are manual.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mlcluster.catalog.components import ComponentPin, chart_name, pins
from mlcluster.findings import Finding, finding
from mlcluster.plan.model import Plan, PlanRelease
from mlcluster.rules.versions import holds, minors_between, step
from mlcluster.spec.document import Loc

Verdict = Literal["safe", "manual", "blocked"]
Only = Literal["", "minor", "major", "skip", "back"]
_RANK: dict[str, int] = {"safe": 0, "manual": 1, "blocked": 2}
_DEFAULTS: dict[str, tuple[Verdict, str]] = {
    "patch": ("safe", "a patch version"),
    "minor": ("safe", "a minor version without known problems"),
    "major": ("manual", "a major version: read its release notes for breaking changes"),
    "back": ("manual", "a downgrade: the older version may not read data of the newer one"),
    "unknown": ("manual", "the versions cannot be compared"),
}


@dataclass(frozen=True, slots=True)
class Record:
    """Known facts about some steps.

    Attributes:
        start: range of versions before the step (`from` in the catalog).
        end: range of versions after it (`to`).
        only: limits the record to minor or major steps, to steps that skip a minor version, or to downgrades; "": any
            upgrade.
        kubernetes: range of Kubernetes versions on which `end` does not work, after any step; "" for a step.
        source: URL or document of the fact.
    """

    start: str
    end: str
    verdict: Verdict
    why: str
    steps: tuple[str, ...]
    source: str
    only: Only = ""
    kubernetes: str = ""

    def fits(self, running: str, wanted: str) -> bool:
        """Return whether the record applies to this step."""
        kind = step(running, wanted)
        if self.kubernetes or (kind == "back") != (self.only == "back"):
            return False
        if self.only in {"minor", "major"} and kind != self.only:
            return False
        if self.only == "skip" and not minors_between(running, wanted):
            return False
        return holds(self.start, running) and holds(self.end, wanted)


def records_of(pin: ComponentPin) -> tuple[Record, ...]:
    """Return the upgrade records of a component."""
    return tuple(_record(entry) for entry in pin.records)


def _record(entry: Mapping[str, Any]) -> Record:
    return Record(
        start=entry["from"],
        end=entry["to"],
        verdict=entry["class"],
        why=entry["why"],
        steps=tuple(entry["steps"]),
        source=entry["source"],
        only=entry.get("only", ""),
        kubernetes=entry.get("kubernetes", ""),
    )


@dataclass(frozen=True, slots=True)
class Assessment:
    """The risk of a step: the highest verdict of all records that apply, and their reasons and steps."""

    verdict: Verdict
    why: tuple[str, ...]
    steps: tuple[str, ...]
    sources: tuple[str, ...]


def assess(records: Iterable[Record], running: str, wanted: str) -> Assessment:
    """Return the risk of the step from one version to another."""
    fitting = [record for record in records if record.fits(running, wanted)]
    if not fitting:
        verdict, why = _DEFAULTS.get(step(running, wanted), ("safe", "the same version"))
        return Assessment(verdict, (why,), (), ())
    fitting.sort(key=lambda record: -_RANK[record.verdict])
    return Assessment(
        verdict=fitting[0].verdict,
        why=tuple(record.why for record in fitting),
        steps=tuple(dict.fromkeys(step for record in fitting for step in record.steps)),
        sources=tuple(dict.fromkeys(record.source for record in fitting)),
    )


@dataclass(frozen=True, slots=True)
class Deployed:
    """A deployed Helm release, from the state of the stack or from the cluster."""

    namespace: str
    name: str
    chart: str
    version: str


@dataclass(frozen=True, slots=True)
class Upgrade:
    """A release whose version would change."""

    release: str
    title: str
    running: str
    wanted: str
    assessment: Assessment
    spec_path: Loc


def upgrades(plan: Plan, deployed: Iterable[Deployed]) -> tuple[Upgrade, ...]:
    """Return every planned release that is deployed with another version or chart."""
    known = {(one.namespace, one.name): one for one in deployed}
    made = []
    for release in plan.releases:
        one = known.get((release.namespace, release.name))
        if one is None or release.realisation != "helm":
            continue
        if chart_name(one.chart) != chart_name(release.chart):
            why = f"another chart: {chart_name(one.chart)} becomes {chart_name(release.chart)}"
            made.append(_upgrade(release, one, Assessment("manual", (why,), (), ())))
        elif one.version != release.version:
            pin = pin_of(release)
            assessment = assess(records_of(pin) if pin else (), one.version, release.version)
            made.append(_upgrade(release, one, assessment))
    return tuple(made)


def _upgrade(release: PlanRelease, one: Deployed, assessment: Assessment) -> Upgrade:
    pin = pin_of(release)
    title = pin.title if pin else release.name
    return Upgrade(release.id, title, one.version, release.version, assessment, release.spec_path)


def upgrade_findings(found_upgrades: Iterable[Upgrade]) -> Iterator[Finding]:
    """Yield UPG001 for a blocked upgrade, and UPG002 for an upgrade with manual steps."""
    for one in found_upgrades:
        assessment = one.assessment
        if assessment.verdict == "safe":
            continue
        identifier = "UPG001" if assessment.verdict == "blocked" else "UPG002"
        verdict = "is blocked" if assessment.verdict == "blocked" else "needs manual steps"
        message = f"{one.title} {one.running} -> {one.wanted} {verdict}: {'; '.join(assessment.why)}"
        steps = "; ".join(f"{number}. {text}" for number, text in enumerate(assessment.steps, 1))
        yield finding(
            identifier, one.spec_path, message, steps or "Read the release notes of the versions between them."
        )


def kubernetes_range(plan: Plan, server: str = "") -> Iterator[Finding]:
    """UPG003: a chart does not support the Kubernetes version of the target.

    Args:
        server: version of the API server, if the spec has none.
    """
    version = _minor(server or plan.cluster.kubernetes_version)
    for release in plan.releases:
        pin = pin_of(release)
        if not version or pin is None or release.realisation != "helm":
            continue
        why = _out_of_range(pin, version) if release.version == pin.version else ""
        why = why or _does_not_run(pin, release.version, version)
        if why:
            message = f"{pin.title} {release.version} does not support Kubernetes {version}: {why}"
            yield finding("UPG003", release.spec_path, message, f"Use another version of {pin.name}, or of Kubernetes.")


def _out_of_range(pin: ComponentPin, version: str) -> str:
    if pin.oldest and _number(version) < _number(pin.oldest):
        return f"it requires {pin.oldest} or newer ({pin.source})"
    if pin.newest and _number(version) > _number(pin.newest):
        return f"it is known to work up to {pin.newest} ({pin.source})"
    return ""


def _does_not_run(pin: ComponentPin, chart: str, version: str) -> str:
    for record in records_of(pin):
        if record.kubernetes and holds(record.kubernetes, version) and holds(record.end, chart):
            return f"{record.why} ({record.source})"
    return ""


def other_versions(plan: Plan) -> Iterator[Finding]:
    """UPG004: the spec sets another version than the catalog, which was not checked."""
    for release in plan.releases:
        pin = pin_of(release)
        if pin is not None and release.version != pin.version and release.realisation == "helm":
            message = (
                f"{pin.title} {release.version} differs from {pin.version} of the catalog: "
                "its values and objects were not checked"
            )
            yield finding("UPG004", (*release.spec_path, "version"), message, f"Remove `version` to use {pin.version}.")


def pin_of(release: PlanRelease) -> ComponentPin | None:
    """Return the catalog entry of a release; a mirror keeps chart names."""
    name = chart_name(release.chart)
    return next((pin for pin in pins().values() if pin.chart and chart_name(pin.chart) == name), None)


def _minor(version: str) -> str:
    """Return 1.36 of v1.36.3-eks-1a2b3c; "" for a version without a minor part."""
    parts = version.removeprefix("v").split(".")
    digits = "".join(character for character in parts[1] if character.isdigit()) if len(parts) > 1 else ""
    return f"{parts[0]}.{digits}" if parts[0].isdigit() and digits else ""


def _number(version: str) -> tuple[int, int]:
    major, minor = version.split(".")[:2]
    return int(major), int(minor)
