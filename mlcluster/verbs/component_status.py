"""Whether each component of a plan runs: as a process of the lab, as what its chart made, as objects of ours."""

from typing import Any

from mlcluster.kube.client import Object
from mlcluster.plan.components.stand_ins import HELM_RELEASE
from mlcluster.plan.model import ComponentPlan, Plan, PlanRelease
from mlcluster.verbs.live import LiveCluster
from mlcluster.verbs.settling import condition

_WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet")


def component_states(plan: Plan, live: LiveCluster) -> list[dict[str, Any]]:
    """For each component `{name, version, ready, detail}`; the detail says what is not ready, or what stands in."""
    found = []
    for component in plan.components:
        ready, detail = _state(plan, live, component)
        found.append({"name": component.name, "version": component.version, "ready": ready, "detail": detail})
    return found


def _state(plan: Plan, live: LiveCluster, component: ComponentPlan) -> tuple[bool, str]:
    if component.realisation == "process":
        return _process(live, component.name)
    release = next((release for release in plan.releases if release.name == component.name), None)
    if component.name == "kueue":
        return _kueue(live)
    if component.realisation == "present":
        return True, "not ours"
    workloads, gone = (_of_release(live, release), []) if release else _of_objects(plan, live, component)
    waiting = [f"{one['kind']} {one['metadata']['name']}" for one in workloads if not _is_ready(one)]
    if gone or waiting:
        return False, f"{', '.join(gone)} not there" if gone else f"{', '.join(waiting)} not ready"
    owner = release.id if release else ""
    if not workloads and any(pod.owner == owner for pod in plan.pods):
        return False, "nothing of it runs"
    return True, "simulated" if component.realisation == "simulated" and release else ""


def _process(live: LiveCluster, name: str) -> tuple[bool, str]:
    running = live.lab.status().processes if live.lab is not None else ()
    process = next((entry for entry in running if entry.name == name), None)
    if process is None:
        return False, "the process does not run"
    return process.alive and process.ready, f"process {process.pid}"


def _kueue(live: LiveCluster) -> tuple[bool, str]:
    """The Deployment, whoever installed it."""
    deployment = live.kube.get_object("apps/v1", "Deployment", "kueue-controller-manager", "kueue-system")
    if deployment is None:
        return False, "Deployment kueue-system/kueue-controller-manager is not there"
    available = condition(deployment, "Available")
    return available.get("status") == "True", str(available.get("message") or "")


def _of_release(live: LiveCluster, release: PlanRelease) -> list[Object]:
    """What a chart made, or what stands in for it."""
    selector = f"{HELM_RELEASE}={release.name}"
    return [one for kind in _WORKLOADS for one in live.kube.list("apps/v1", kind, release.namespace, selector)]


def _of_objects(plan: Plan, live: LiveCluster, component: ComponentPlan) -> tuple[list[Object], list[str]]:
    """Workloads that the plan itself holds for a component, and what of them is not there."""
    found, gone = [], []
    for entry in plan.objects:
        ours = entry.manifest
        if entry.spec_path != component.spec_path or ours["kind"] not in _WORKLOADS:
            continue
        name = ours["metadata"]["name"]
        there = live.kube.get_object("apps/v1", ours["kind"], name, ours["metadata"].get("namespace"))
        if there is None:
            gone.append(f"{ours['kind']} {name}")
        else:
            found.append(there)
    return found, gone


def _is_ready(workload: Object) -> bool:
    counts = workload.get("status") or {}
    if workload["kind"] == "Deployment":
        return condition(workload, "Available").get("status") == "True"
    if workload["kind"] == "DaemonSet":
        return int(counts.get("numberReady") or 0) >= int(counts.get("desiredNumberScheduled") or 0)
    return int(counts.get("readyReplicas") or 0) >= int((workload.get("spec") or {}).get("replicas") or 0)
