"""Components that run as host processes of the lab: started before the objects that need them, stopped after."""

import json
from typing import Any

from mlcluster.plan.model import Plan
from mlcluster.progress import Progress
from mlcluster.verbs.live import LiveCluster
from mlcluster.verbs.tools import Tools


def kueue_configuration(plan: Plan) -> dict[str, Any]:
    """Kueue's configuration as the plan's release holds it."""
    release = next(release for release in plan.releases if release.name == "kueue")
    found: dict[str, Any] = json.loads(release.values["managerConfig"]["controllerManagerConfigYaml"])
    return found


def start_processes(plan: Plan, live: LiveCluster, tools: Tools, progress: Progress) -> None:
    """Starts what runs as a process here, and waits until it answers; a changed configuration restarts it."""
    if live.lab is None or tools.toolchain is None:
        return
    if any(release.realisation == "process" for release in plan.releases):
        live.lab.start_kueue(kueue_configuration(plan), tools.toolchain, progress)


def stop_processes(live: LiveCluster, progress: Progress) -> None:
    """Stops what `start_processes` started, and removes the objects that came with it."""
    if live.lab is not None:
        live.lab.stop_kueue(progress)
