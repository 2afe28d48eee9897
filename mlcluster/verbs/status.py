"""`mlcluster status`: plan, state and cluster compared; per component and team whether it is there, ready, drifted."""

import json
from pathlib import Path
from typing import Any

from mlcluster.engine.events import Change
from mlcluster.errors import ExitCode
from mlcluster.plan import names
from mlcluster.plan.model import Plan
from mlcluster.plan.objects import KUEUE_API
from mlcluster.progress import Progress
from mlcluster.report.progress import for_terminal
from mlcluster.report.status_text import status_text
from mlcluster.verbs import ownership
from mlcluster.verbs.added import Widened, widened
from mlcluster.verbs.component_status import component_states
from mlcluster.verbs.live import LiveCluster, open_cluster, stages_of
from mlcluster.verbs.output import print_result, use_color
from mlcluster.verbs.reading import read
from mlcluster.verbs.settling import condition, message
from mlcluster.verbs.stage import Stage, home_of
from mlcluster.verbs.tools import tools_of


def status(path: Path, output: str, *, fail_on_drift: bool) -> ExitCode:
    """Prints what is; `FINDINGS` with `fail_on_drift` when something is missing, not ready or drifted."""
    progress = for_terminal()
    reading = read(path)
    tools = tools_of(reading, progress)
    with open_cluster(reading, tools, progress, start=False) as live:
        if live is None:
            document = _absent(reading.plan)
        else:
            ownership.check_owner(live.kube, reading.spec.metadata.name, home_of(reading))
            stages = stages_of(reading, live, tools.pulumi, progress)
            document = look(reading.plan, live, stages, progress)
    print_result(json.dumps(document, indent=2) if output == "json" else status_text(document, color=use_color()))
    well = document["state"] == "ready"
    return ExitCode.OK if well or not fail_on_drift else ExitCode.FINDINGS


def look(plan: Plan, live: LiveCluster, stages: list[Stage], progress: Progress) -> dict[str, Any]:
    """The status document: `{apiVersion, kind: Status, state, pools, components, teams, missing, drifted, foreign}`."""
    with progress.task("reading state and cluster"):
        held = {entry.plan_id for stage in stages if stage.engine.exists() for entry in stage.engine.resources()}
        seen = [change for stage in stages if stage.engine.exists() for change in stage.engine.drift().effective]
        drift = [change for change in seen if not _is_expected(plan, change)]
        added = widened(plan, live.kube)
    planned = {entry.id for entry in plan.objects} | {entry.id for entry in plan.resources}
    drifted = {change.id for change in drift} | {one.planned.id for one in added}
    document = {
        "apiVersion": "mlcluster/v1alpha1",
        "kind": "Status",
        "cluster": plan.cluster.name,
        "pools": _pools(plan, live),
        "components": component_states(plan, live),
        "teams": [_team(plan, live, team.name, held, drifted) for team in plan.teams],
        "missing": sorted(planned - held),
        "unplanned": sorted(held - planned),
        "drifted": [*(_drift(change) for change in drift), *(_widened(one) for one in added)],
    }
    return {**document, "state": _state(document)}


def _is_expected(plan: Plan, change: Change) -> bool:
    """Whether only that has changed which the plan leaves to others, e.g. how many nodes an autoscaler wants."""
    left = next((entry.ignore for entry in plan.resources if entry.id == change.id), ())
    return change.op == "update" and bool(change.paths) and set(change.paths) <= set(left)


def _state(document: dict[str, Any]) -> str:
    parts = [*document["components"], *document["teams"], *document["pools"]]
    if document["missing"] or document["unplanned"] or document["drifted"]:
        return "drifted"
    return "ready" if all(part["ready"] for part in parts) else "notReady"


def _absent(plan: Plan) -> dict[str, Any]:
    """Nothing runs: everything of the plan is missing."""
    return {
        "apiVersion": "mlcluster/v1alpha1",
        "kind": "Status",
        "cluster": plan.cluster.name,
        "state": "absent",
        "pools": [],
        "components": [],
        "teams": [],
        "missing": sorted([*(entry.id for entry in plan.resources), *(entry.id for entry in plan.objects)]),
        "unplanned": [],
        "drifted": [],
    }


def _pools(plan: Plan, live: LiveCluster) -> list[dict[str, Any]]:
    nodes = live.kube.list("v1", "Node")
    found = []
    for pool in plan.pools:
        mine = [node for node in nodes if _has_labels(node, dict(pool.selector))]
        ready = [node for node in mine if condition(node, "Ready").get("status") == "True"]
        wanted = pool.max_size if plan.cluster.target == "local" else pool.min_size
        found.append({"name": pool.name, "nodes": len(mine), "readyNodes": len(ready), "ready": len(ready) >= wanted})
    return found


def _team(plan: Plan, live: LiveCluster, name: str, held: set[str], drifted: set[str]) -> dict[str, Any]:
    team = next(team for team in plan.teams if team.name == name)
    mine = {entry.id for entry in plan.objects if entry.manifest["metadata"]["labels"].get(names.TEAM) == name}
    queue = live.kube.get_object(KUEUE_API, "ClusterQueue", name)
    counts = (queue or {}).get("status") or {}
    elsewhere = f"ClusterQueue/{name}" not in mine  # another scheduler queues its work
    active = elsewhere or condition(queue, "Active").get("status") == "True"
    return {
        "name": name,
        "namespace": team.namespace,
        "there": len(mine & held),
        "planned": len(mine),
        "ready": active and mine <= held,
        "detail": "" if active else message(queue, "Active"),
        "admitted": int(counts.get("admittedWorkloads") or 0),
        "pending": int(counts.get("pendingWorkloads") or 0),
        "drifted": sorted(mine & drifted),
    }


def _drift(change: Change) -> dict[str, Any]:
    what = {"delete": "deleted", "update": "changed", "replace": "changed"}.get(change.op, change.op)
    return {"id": change.id, "was": what, "paths": [path for path in change.paths if not path.startswith("__")]}


def _widened(one: Widened) -> dict[str, Any]:
    return {"id": one.planned.id, "was": "changed", "paths": one.paths}


def _has_labels(node: dict[str, Any], labels: dict[str, str]) -> bool:
    present = node["metadata"].get("labels") or {}
    return all(present.get(key) == value for key, value in labels.items())
