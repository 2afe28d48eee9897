"""The status document: plan, state and cluster compared per pool, component and team, and the runs in progress."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mlcluster.deploy.ownership.foreign_fields import Widened, widened
from mlcluster.deploy.session.cluster import LiveCluster, lab_of
from mlcluster.deploy.session.session import open_session
from mlcluster.deploy.session.stack import Stack, home_of, stacks_without_cluster
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.deploy.status.components import component_states
from mlcluster.deploy.status.runs import NO_RUN, RunState, run_state
from mlcluster.deploy.status.uncounted import uncounted
from mlcluster.engine.events import Change
from mlcluster.engine.run_lock import run_in_progress
from mlcluster.errors import MlclusterError
from mlcluster.kube.conditions import condition, message
from mlcluster.lab.toolchain.find import find_tool
from mlcluster.plan.model import Plan
from mlcluster.plan.objects import KUEUE_API
from mlcluster.plan.queues import queued_teams
from mlcluster.progress import Progress
from mlcluster.report.numbers import some


def status_document(workspace: Workspace, progress: Progress) -> dict[str, Any]:
    """Return the status of a cluster; nothing is built or started for it.

    Raises:
        MlclusterError: the cluster or its stacks cannot be read, and no run is in progress.
    """
    try:
        return _document(workspace, progress)
    except MlclusterError:
        if run_in_progress(home_of(workspace)) is None:
            raise
        # A run that is in progress may change what is read here.
        return look(workspace.plan, None, [], progress, run_state(workspace, None, []))


def _document(workspace: Workspace, progress: Progress) -> dict[str, Any]:
    lab = lab_of(workspace)
    found = None if lab is None else lab.status()
    if found is not None and found.state != "running":  # nothing is built or started for a look
        stacks = stacks_without_cluster(workspace, find_tool("pulumi") or Path("pulumi"))
        return look(workspace.plan, None, stacks, progress, run_state(workspace, found, stacks))
    with open_session(workspace, progress, start=False) as session:
        runs = run_state(workspace, found, session.stacks)
        return look(workspace.plan, session.live, session.stacks, progress, runs)


def look(
    plan: Plan, live: LiveCluster | None, stacks: list[Stack], progress: Progress, runs: RunState = NO_RUN
) -> dict[str, Any]:
    """Return the status document; while a run is in progress, the engine is not asked for drift.

    Args:
        plan: the desired state.
        live: the cluster; None where none runs.
        stacks: its stacks.
        progress: reports the reading of the state.
        runs: runs in progress and unfinished runs.
    """
    with progress.task("reading state and cluster"):
        existing = [stack for stack in stacks if stack.engine.exists()]
        resources = [entry for stack in existing for entry in stack.engine.resources()]
        asked = [] if live is None or runs.in_progress else existing
        seen = [change for stack in asked for change in stack.engine.drift().effective]
        added = widened(plan, live.kube) if live is not None and asked else []
    held = {entry.plan_id for entry in resources}
    drifted = {change.id: change for change in seen if not _is_expected(plan, change)}
    differing = _differing(drifted.values(), added)
    gone = set(plan.registered - held) | {change.id for change in drifted.values() if change.op == "delete"}
    document = {
        "apiVersion": "mlcluster/v1alpha1",
        "kind": "Status",
        "cluster": plan.cluster.name,
        "run": runs.run,
        "reasons": list(runs.reasons),
        "pools": [] if live is None else _pools(plan, live),
        "components": [] if live is None else component_states(plan, live, gone),
        "teams": [] if live is None else [_team(plan, live, team.name, gone, set(differing)) for team in plan.teams],
        "missing": sorted(plan.registered - held),
        "unplanned": sorted({entry.plan_id for entry in resources if not entry.is_child} - plan.registered),
        "drifted": list(differing.values()),
    }
    return {**document, "state": _state(document, runs, held=bool(held), runs_at_all=live is not None)}


def _is_expected(plan: Plan, change: Change) -> bool:
    """Return whether only fields changed that the plan leaves to other controllers, such as an autoscaled size."""
    left = next((entry.ignore for entry in plan.resources if entry.id == change.id), ())
    return change.op == "update" and bool(change.paths) and set(change.paths) <= set(left)


def _state(document: dict[str, Any], runs: RunState, *, held: bool, runs_at_all: bool) -> str:
    """Return the state as one word: a run in progress before an unfinished run, and that before drift."""
    if runs.in_progress:
        return "inProgress"
    if not held and not runs.unfinished:
        return "absent"
    if runs.unfinished or document["missing"] or document["unplanned"]:
        return "incomplete"
    if not runs_at_all:
        return "absent"
    if document["drifted"]:
        return "drifted"
    parts = [*document["components"], *document["teams"], *document["pools"]]
    return "ready" if all(part["ready"] for part in parts) else "notReady"


def _pools(plan: Plan, live: LiveCluster) -> list[dict[str, Any]]:
    nodes = live.kube.list("v1", "Node")
    found = []
    for pool in plan.pools:
        mine = [node for node in nodes if _has_labels(node, dict(pool.selector))]
        ready = [node for node in mine if condition(node, "Ready").get("status") == "True"]
        wanted = pool.max_size if plan.cluster.target == "local" else pool.min_size
        found.append(
            {
                "name": pool.name,
                "nodes": len(mine),
                "readyNodes": len(ready),
                "plannedNodes": wanted,
                "ready": len(ready) >= wanted,
            }
        )
    return found


def _team(plan: Plan, live: LiveCluster, name: str, gone: set[str], drifted: set[str]) -> dict[str, Any]:
    team = next(team for team in plan.teams if team.name == name)
    mine = {entry.id for entry in plan.objects if entry.team == name}
    queue = live.kube.get_object(KUEUE_API, "ClusterQueue", name)
    counts = (queue or {}).get("status") or {}
    elsewhere = team not in queued_teams(plan)  # another scheduler queues its work
    active = elsewhere or condition(queue, "Active").get("status") == "True"
    missing = sorted(mine & gone)
    more = {} if elsewhere else uncounted(live.kube, team.namespace, team.grace_period_seconds)
    absent = f"{some(missing, 3)} {'is' if len(missing) == 1 else 'are'} not there" if missing else _beyond(more)
    return {
        "name": name,
        "namespace": team.namespace,
        "there": len(mine - gone),
        "planned": len(mine),
        "ready": active and not missing and not more,
        "detail": absent if active else message(queue, "Active"),
        "admitted": int(counts.get("admittedWorkloads") or 0),
        "pending": int(counts.get("pendingWorkloads") or 0),
        "uncounted": more,
        "missing": missing,
        "drifted": sorted(mine & drifted),
    }


def _beyond(more: dict[str, str]) -> str:
    """Return the notes on pods whose resources Kueue does not count."""
    amounts = some([f"{amount} {name}" for name, amount in more.items()], 5)
    return f"pods on nodes request more than Kueue counts: {amounts}" if more else ""


def _differing(drifted: Iterable[Change], added: Iterable[Widened]) -> dict[str, dict[str, Any]]:
    """Return by id how objects differ: as the engine reports it, and by fields that another manager added."""
    found = {change.id: _drift(change) for change in drifted}
    for one in added:
        entry = found.setdefault(one.planned.id, {"id": one.planned.id, "was": "changed", "paths": []})
        entry["paths"] = [*entry["paths"], *(path for path in one.paths if path not in entry["paths"])]
    return found


def _drift(change: Change) -> dict[str, Any]:
    what = {"delete": "deleted", "update": "changed", "replace": "changed"}.get(change.op, change.op)
    return {"id": change.id, "was": what, "paths": [path for path in change.paths if not path.startswith("__")]}


def _has_labels(node: dict[str, Any], labels: dict[str, str]) -> bool:
    present = node["metadata"].get("labels") or {}
    return all(present.get(key) == value for key, value in labels.items())
