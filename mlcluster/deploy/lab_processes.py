"""Components that run as host processes of the lab: started before the objects that need them, stopped after."""

import json
from collections.abc import Iterable
from graphlib import TopologicalSorter
from typing import Any

from mlcluster.deploy.session.cluster import LiveCluster
from mlcluster.deploy.session.tools import Tools
from mlcluster.errors import MlclusterError
from mlcluster.plan.model import Plan, PlanRelease
from mlcluster.progress import Progress

KUEUE = "kueue"


def kueue_configuration(plan: Plan) -> dict[str, Any]:
    """Kueue's configuration as the plan's release holds it."""
    return _settings(next(release for release in plan.releases if release.name == KUEUE))


def start_processes(plan: Plan, live: LiveCluster, tools: Tools, progress: Progress) -> None:
    """Start the controllers that run as processes of the lab, and wait for each; changed settings restart it.

    Raises:
        ControllerInUse: the plan drops one of whose kinds there are still objects in a namespace. Kueue would not
            look at their workloads any more, and nobody could delete these; so nothing is changed.
    """
    wanted = processes(plan)
    if live.lab is None or tools.toolchain is None or not wanted:
        return
    from mlcluster.lab.toolchain import Program, ensure_optional

    names = {release.name for release in wanted}
    live.lab.require_idle(name for name in live.lab.controllers() if name not in names)
    programs = dict(ensure_optional([release.name for release in wanted if release.name != KUEUE], progress))
    programs[KUEUE] = Program(tools.toolchain.path(KUEUE), tools.toolchain.chart)
    for release in wanted:
        live.lab.start_controller(release.name, _settings(release), programs[release.name], progress)


def stop_unwanted(plan: Plan, live: LiveCluster, progress: Progress) -> None:
    """After the objects of a plan are applied: stops the processes that it does not want any more.

    One of whose kinds there are objects by now goes on, and that is told: its definitions would take them along.
    """
    if live.lab is None:
        return
    from mlcluster.lab.controllers.run import ControllerInUse

    wanted = {release.name for release in processes(plan)}
    for name in reversed(live.lab.controllers()):
        if name not in wanted:
            try:
                live.lab.stop_controllers([name], progress)
            except ControllerInUse as error:
                progress.say(f"{name} is not in the spec any more but keeps running: {error.happened}")


def stop_processes(live: LiveCluster, progress: Progress) -> None:
    """Stop the controllers of the lab, and remove the objects that came with them."""
    if live.lab is not None:
        live.lab.stop_controllers(live.lab.controllers(), progress)


def processes(plan: Plan) -> list[PlanRelease]:
    """Return the releases that run as processes, each after its dependencies."""
    found = {release.id: release for release in plan.releases if release.realisation == "process"}
    order: Iterable[str] = TopologicalSorter(
        {key: [need for need in release.needs if need in found] for key, release in found.items()}
    ).static_order()
    return [found[key] for key in order]


def _settings(release: PlanRelease) -> dict[str, Any]:
    """Return the values of its chart; of Kueue its configuration, which its chart takes as a text."""
    if release.name != KUEUE:
        return dict(release.values)
    try:
        found: dict[str, Any] = json.loads(release.values["managerConfig"]["controllerManagerConfigYaml"])
    except (KeyError, TypeError, ValueError) as error:
        raise MlclusterError("reading Kueue's configuration", f"the plan has none: {error!r}") from error
    return found
