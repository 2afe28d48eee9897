"""Errors for charts that cannot be pulled: chart, repository, cached copies of Helm, and the mirror command."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from mlcluster.engine.failures import ResourcesFailedError
from mlcluster.errors import MlclusterError
from mlcluster.plan.model import Plan, PlanRelease

ChartTrouble = Literal["unreachable", "missing", "refused"]

_CHARTS: tuple[tuple[ChartTrouble, re.Pattern[str]], ...] = (
    (
        "refused",
        re.compile(r"(?:FetchReference|failed to fetch|chart repository|failed to (?:pull|download)).*"
                   r"(?:\b40[13]\b|denied|unauthorized|forbidden)", re.IGNORECASE | re.DOTALL),
    ),
    (
        "missing",
        re.compile(r"version \S+ not found in \S+ repository|FetchReference.*: not found|manifest unknown"
                   r"|no chart (?:version|name) found|failed to fetch \S+ ?: 404", re.IGNORECASE | re.DOTALL),
    ),
    (
        "unreachable",
        re.compile(r"is not a valid chart repository or cannot be reached|FetchReference|could not download chart"
                   r"|failed to fetch \S+ ?:|failed to (?:pull|download) ", re.IGNORECASE),
    ),
)  # fmt: skip
"""Messages of Helm 3.22 for a chart that it cannot pull. The official provider uses the same library and messages."""

_HAPPENED: dict[ChartTrouble, str] = {
    "unreachable": "cannot be reached",
    "missing": "does not have it",
    "refused": "denies access to it",
}
_REACH = (
    "Check network, proxy and credentials, or set `components.registry` to a mirror of all charts and images "
    "(docs/air-gapped.md). Run the same command again: it continues."
)


@contextmanager
def charts_explained(plan: Plan) -> Iterator[None]:
    """Replace the error of an engine operation whose chart could not be pulled by one that names chart and repository.

    Raises:
        MlclusterError: instead of the engine's, where that is the cause.
    """
    try:
        yield
    except ResourcesFailedError as error:
        raise explained(error, plan, helm_cache()) from error


def explained(error: ResourcesFailedError, plan: Plan, cache: Path) -> MlclusterError:
    """Return the error, or a clearer one where a chart could not be pulled."""
    releases = {release.id: release for release in plan.releases}
    lines, wanted = [], list[PlanRelease]()
    for identifier, message in error.resources:
        trouble, release = chart_trouble(message), releases.get(identifier)
        if trouble is None or release is None:
            lines.append(f"{identifier}: {message}")
        else:
            wanted.append(release)
            lines.append(_line(release, trouble, message, cached(release, cache)))
    if not wanted:
        return error
    return MlclusterError(error.doing, "\n  ".join([f"{len(lines)} failed", *lines]), _hint(wanted))


def cached(release: PlanRelease, cache: Path) -> list[str]:
    """Return the names of the archives that Helm keeps of this chart, in any version."""
    pattern = re.compile(rf"{re.escape(_name(release))}-v?[0-9].*\.tgz")
    return sorted(path.name for path in cache.glob("*.tgz") if pattern.fullmatch(path.name)) if cache.is_dir() else []


def helm_cache() -> Path:
    """Return the directory in which Helm keeps archives of charts."""
    given = os.environ.get("HELM_REPOSITORY_CACHE")
    home = os.environ.get("HELM_CACHE_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "helm")
    return Path(given or Path(home, "repository")).expanduser()


def _line(release: PlanRelease, trouble: ChartTrouble, message: str, kept: Sequence[str]) -> str:
    where = release.repository or release.chart
    have = f"Helm's cache has {', '.join(kept)}, which it does not use by itself" if kept else "Helm's cache has none"
    told = " ".join(message.split())
    return f"{release.id}: the chart {_name(release)} {release.version}: {where} {_HAPPENED[trouble]}. {told}. {have}."


def _hint(wanted: Sequence[PlanRelease]) -> str:
    mirrored = next((one for one in wanted if one.chart.startswith("oci://") and _is_mirror(one)), None)
    if mirrored is None:
        return _REACH
    place = mirrored.chart.rpartition("/")[0]
    return (
        f"Where there is a way out: `helm pull` the chart in this version, then `helm push {_name(mirrored)}-"
        f"{mirrored.version}.tgz {place}` (docs/air-gapped.md). Run the same command again: it continues."
    )


def _is_mirror(release: PlanRelease) -> bool:
    from mlcluster.catalog.components import pins

    return all(release.chart != pin.chart for pin in pins().values())


def _name(release: PlanRelease) -> str:
    return release.chart.rpartition("/")[2]


def chart_trouble(message: str) -> ChartTrouble | None:
    """Return why the chart could not be pulled; None if the message of a failed release has another reason."""
    return next((trouble for trouble, pattern in _CHARTS if pattern.search(message)), None)
