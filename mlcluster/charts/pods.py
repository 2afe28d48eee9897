"""Pods of a plan's charts, rendered from archives in a directory: `mlcluster plan --chart-dir`."""

from collections.abc import Iterable
from pathlib import Path

import yaml

from mlcluster.catalog.components import chart_name
from mlcluster.charts.archives import Archive, archives, exact, packed_chart, plain
from mlcluster.charts.rendering import KUBERNETES, Renderer
from mlcluster.errors import MlclusterError
from mlcluster.plan.chart_facts import chart_facts
from mlcluster.plan.model import Plan, PlanPod, PlanRelease
from mlcluster.plan.rendered_pods import Rendered, rendered_pods
from mlcluster.progress import Progress

_DOING = "rendering charts"


def pods_of_charts(plan: Plan, directory: Path, helm: Path | None, progress: Progress) -> Rendered:
    """Return the pods of every release with pods, by the id of the release.

    Args:
        plan: a plan with declared pods; the charts are rendered with its values.
        directory: contains an archive of each chart in the version of the release.
        helm: the Helm executable, None if there is none.
        progress: receives a message for each chart.

    Raises:
        MlclusterError: there is no Helm, an archive is missing or contains another chart, or Helm rejects a chart.
    """
    wanted = _with_pods(plan)
    found = _found(wanted, directory)
    if helm is None and wanted:
        happened = "Helm is neither on PATH nor in the toolchain of the lab"
        raise MlclusterError(_DOING, happened, "Install Helm 3, or run `mlcluster lab build`.")
    renderer = Renderer(helm or Path(), plan.cluster.kubernetes_version or KUBERNETES)
    made: dict[str, tuple[PlanPod, ...]] = {}
    with progress.task(_DOING) as task:
        for number, release in enumerate(wanted):
            task.update(release.name, done=number, total=len(wanted))
            made[release.id] = _pods(plan, release, found[release.id], renderer)
    return made


def _pods(plan: Plan, release: PlanRelease, archive: Archive, renderer: Renderer) -> tuple[PlanPod, ...]:
    """Return the pods of one release.

    Raises:
        MlclusterError: the archive contains another chart, Helm rejects it, or it renders invalid objects.
    """
    _require_chart(release, archive)
    name = archive.path.name
    source = f"helm template of {name}, with the values of the release"
    try:
        facts = chart_facts(renderer.objects(release, archive.path), release.namespace)
        return rendered_pods(plan, release, facts.workloads, source)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, yaml.YAMLError) as error:
        # Only the API server checks the schema of a chart's objects; an archive can contain any object.
        happened = f"the rendered chart has an object without the fields of its kind ({type(error).__name__}: {error})"
        hint = "Check the archive and the values of the component in the spec."
        raise MlclusterError(f"reading the chart {name} of {release.id}", happened, hint) from error


def _require_chart(release: PlanRelease, archive: Archive) -> None:
    """Check the contents of the archive; if they are unreadable, Helm later reports the reason.

    Raises:
        MlclusterError: the archive contains another chart or version.
    """
    packed = packed_chart(archive)
    if packed is None or (packed[0], plain(packed[1])) == (chart_name(release.chart), plain(release.version)):
        return
    happened = f"{archive.path} contains the chart {packed[0]} {packed[1]}"
    command = pull_command(release.chart, release.version, release.repository)
    raise MlclusterError(_DOING, happened, f"Remove it, and run:\n  {command} -d {archive.path.parent}")


def _with_pods(plan: Plan) -> list[PlanRelease]:
    owners = {pod.owner.id for pod in plan.pods}
    return [one for one in plan.releases if one.id in owners and one.realisation in {"helm", "simulated"}]


def _found(wanted: Iterable[PlanRelease], directory: Path) -> dict[str, Archive]:
    """Return the archive of each release.

    Raises:
        MlclusterError: the path is not a directory, or archives are missing in it.
    """
    if not directory.is_dir():
        raise MlclusterError(_DOING, f"{directory} is not a directory", "Set --chart-dir to a directory of archives.")
    there = archives(directory)
    found, missing = dict[str, Archive](), list[PlanRelease]()
    for release in wanted:
        archive = exact(there, release.chart, release.version)
        if archive is None:
            missing.append(release)
        else:
            found[release.id] = archive
    if missing:
        raise _missing(missing, there, directory)
    return found


def _missing(missing: Iterable[PlanRelease], there: list[Archive], directory: Path) -> MlclusterError:
    lines, commands = list[str](), list[str]()
    for chart, release in {chart_name(release.chart): release for release in missing}.items():
        others = [one.version for one in there if one.name == chart]
        known = f" (it has {', '.join(others)})" if others else ""
        lines.append(f"{chart}-{release.version}.tgz{known}")
        commands.append(f"{pull_command(release.chart, release.version, release.repository)} -d {directory}")
    count = f"{len(lines)} archives are" if len(lines) > 1 else "1 archive is"
    happened = f"{count} missing in {directory}: {', '.join(lines)}"
    return MlclusterError(_DOING, happened, "Run:\n  " + "\n  ".join(commands))


def pull_command(chart: str, version: str, repository: str) -> str:
    """Return the command that downloads the archive of a chart."""
    return f"helm pull {chart} --version {version}{f' --repo {repository}' if repository else ''}"
