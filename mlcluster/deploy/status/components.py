"""The state of each component of a plan: a process of the lab, the workloads of its charts, or objects of the plan.

A component's releases and objects are named by fields of the plan; no name is guessed.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from mlcluster.deploy.session.cluster import LiveCluster
from mlcluster.kube.client import Object
from mlcluster.kube.conditions import condition
from mlcluster.plan.components.simulated import HELM_RELEASE
from mlcluster.plan.model import ComponentPlan, Plan, PlanObject, PlanRelease
from mlcluster.report.numbers import some

_WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet")


def component_states(plan: Plan, live: LiveCluster, gone: Collection[str]) -> list[dict[str, Any]]:
    """Return `{name, version, ready, detail}` of each component; the detail names unready parts, or the simulation.

    Args:
        plan: the whole plan.
        live: the cluster that runs.
        gone: ids of the plan that the state does not hold or the cluster does not have any more.
    """
    found = []
    for component in plan.components:
        ready, detail = _state(plan, live, component, gone)
        found.append({"name": component.name, "version": component.version, "ready": ready, "detail": detail})
    return found


def _state(plan: Plan, live: LiveCluster, component: ComponentPlan, gone: Collection[str]) -> tuple[bool, str]:
    releases = [release for release in plan.releases if release.component == component.name]
    if component.realisation == "process":
        return _processes(live, releases)
    if component.name == "kueue":
        return _kueue(live)
    if component.realisation == "present":
        return True, "managed by another tool"
    objects = [entry for entry in plan.objects if entry.component == component.name]
    absent, workloads = [entry.id for entry in objects if entry.id in gone], []
    for wanted, there in _workloads(plan, live, objects, releases):
        workloads += there
        absent += [] if there or wanted in absent else [wanted]
    if absent:
        return False, f"{some(absent, 3)} {'is' if len(absent) == 1 else 'are'} not there"
    if waiting := [f"{one['kind']} {one['metadata']['name']}" for one in workloads if not _is_ready(one)]:
        return False, f"{', '.join(waiting)} not ready"
    return True, "simulated" if component.realisation == "simulated" and releases else ""


def _processes(live: LiveCluster, releases: Iterable[PlanRelease]) -> tuple[bool, str]:
    """Return the status of a release of the lab, which is a process with the same name."""
    running = {entry.name: entry for entry in (live.lab.status().processes if live.lab is not None else ())}
    found = [running.get(release.name) for release in releases]
    known = [process for process in found if process is not None]
    if not found or len(known) < len(found):
        return False, "the process does not run"
    pids = ", ".join(f"process {process.pid}" for process in known)
    return all(process.alive and process.ready for process in known), pids


def _kueue(live: LiveCluster) -> tuple[bool, str]:
    """Return the Deployment, whichever tool installed it."""
    deployment = live.kube.get_object("apps/v1", "Deployment", "kueue-controller-manager", "kueue-system")
    if deployment is None:
        return False, "Deployment kueue-system/kueue-controller-manager is not there"
    available = condition(deployment, "Available")
    return available.get("status") == "True", str(available.get("message") or "")


def _workloads(
    plan: Plan, live: LiveCluster, objects: Iterable[PlanObject], releases: Iterable[PlanRelease]
) -> Iterator[tuple[str, list[Object]]]:
    """Yield every planned workload of a component by plan id, with its live workloads."""
    for release in releases:
        if release.realisation == "helm" and any(pod.owner.id == release.id for pod in plan.pods):
            selector = f"{HELM_RELEASE}={release.name}"
            yield (
                release.id,
                [one for kind in _WORKLOADS for one in live.kube.list("apps/v1", kind, release.namespace, selector)],
            )
    for entry in objects:
        if entry.kind in _WORKLOADS:
            there = live.kube.get_object("apps/v1", entry.kind, entry.name, entry.namespace or None)
            yield entry.id, [] if there is None else [there]


def _is_ready(workload: Object) -> bool:
    counts = workload.get("status") or {}
    if workload["kind"] == "Deployment":
        return condition(workload, "Available").get("status") == "True"
    if workload["kind"] == "DaemonSet":
        return int(counts.get("numberReady") or 0) >= int(counts.get("desiredNumberScheduled") or 0)
    return int(counts.get("readyReplicas") or 0) >= int((workload.get("spec") or {}).get("replicas") or 0)
