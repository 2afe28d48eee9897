"""Before the official provider runs: find managed objects that the state misses, and others under managed names.

The built-in provider does this itself, object by object, while it creates and updates.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from mlcluster.deploy.ownership import baseline
from mlcluster.deploy.ownership.helm_records import records_of, remove_pending
from mlcluster.deploy.session.cluster import LiveCluster
from mlcluster.deploy.session.stack import Stack
from mlcluster.engine.adoption import Adopted, Held
from mlcluster.engine.engine import Engine
from mlcluster.engine.identity import RELEASE
from mlcluster.engine.presence import Foreign, Planned, replaced, sort_missing
from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.plan.model import Plan
from mlcluster.progress import Progress

Object = dict[str, Any]
_Item = TypeVar("_Item")

_REQUESTS = 8
"""Requests at a time: fewer than the API server's limit for one user, enough for a distant one."""
_SHOWN = 10


def take_over(plan: Plan, live: LiveCluster, stacks: list[Stack], progress: Progress, *, write: bool = True) -> None:
    """Before `up`: has the state hold every managed object of the plan that exists.

    Args:
        plan: the plan of the spec.
        live: the cluster.
        stacks: its stacks; the last one is the platform.
        progress: reports the adopted objects.
        write: False for a preview, which must not change the state.

    Raises:
        MlclusterError: an object that mlcluster does not manage has the name of a planned or managed one; or the state
            misses objects, and `write` is False.
    """
    if not _concerns(plan):
        return
    engine = stacks[-1].engine
    if write:
        engine.recover_if_owner_dead()
    with progress.task("looking for objects that exist already"):
        missing, foreign = _missing(plan, live.kube, engine)
        foreign += _replaced(plan, live.kube, engine)
    if foreign:
        raise _refusal(foreign)
    adopted = [*_releases(plan, live.kube, engine), *missing]
    if adopted and not write:
        happened = f"an interrupted run left {_counted(adopted)} that the state misses: {_names(adopted)}"
        raise MlclusterError("previewing", happened, "Run `mlcluster up`: it adds them to the state first.")
    _adopt(engine, live, adopted, progress)


def take_over_rest(plan: Plan, live: LiveCluster, stacks: list[Stack], progress: Progress) -> None:
    """Before `down`: the same, but other parties' objects leave the state, so the engine does not delete them.

    An object in a managed namespace is deleted with that namespace anyway, and the message mentions it.
    """
    if not _concerns(plan):
        return
    engine = stacks[-1].engine
    engine.recover_if_owner_dead()
    with progress.task("looking for objects that the state misses"):
        missing, _ = _missing(plan, live.kube, engine)
        foreign = _replaced(plan, live.kube, engine)
    if foreign:
        engine.forget({one.urn for one in foreign})
        spaces = {item.manifest["metadata"]["name"] for item in plan.objects if item.manifest["kind"] == "Namespace"}
        for one in foreign:
            goes = f"but goes with the namespace {one.namespace}" if one.namespace in spaces else "and stays"
            progress.say(f"{one.text}, is not the object that mlcluster created, {goes}.")
    _adopt(engine, live, [*_releases(plan, live.kube, engine), *missing], progress)


def restart_releases(plan: Plan, live: LiveCluster, stacks: list[Stack], progress: Progress) -> bool:
    """Remove the records of releases that an interrupted run left pending; return whether there were any.

    Helm refuses to go on from a pending revision. Without its record, an upgrade goes on from the revision before, and
    a first installation takes the release's own objects over (`existingResourceConflict` in pkg/action of helm 3).
    """
    if not _concerns(plan):
        return False
    engine, restarted = stacks[-1].engine, False
    held = {one.plan_id: one.urn for one in engine.resources()}
    for release in plan.releases:
        if release.realisation != "helm" or release.id not in held:
            continue
        records = records_of(live.kube, release.namespace, release.name)
        if not remove_pending(live.kube, records):
            continue
        restarted = True
        progress.say(f"The release {release.name} was left {records[-1].status}; `up` installs it again.")
        if len(records) == 1:
            engine.forget({held[release.id]})
    return restarted


def _concerns(plan: Plan) -> bool:
    return plan.cluster.kubernetes_provider == "official"


def _missing(plan: Plan, kube: Kube, engine: Engine) -> tuple[list[Adopted], list[Foreign]]:
    held = {one.plan_id for one in engine.resources()}
    absent = [Planned(one.id, one.manifest, one.needs) for one in plan.objects if one.id not in held]
    return sort_missing(_live(kube, absent, _planned_object), plan.cluster.name)


def _replaced(plan: Plan, kube: Kube, engine: Engine) -> list[Foreign]:
    return replaced(_live(kube, engine.held_objects(), _held_object), plan.cluster.name)


def _planned_object(kube: Kube, planned: Planned) -> Object | None:
    metadata = planned.manifest["metadata"]
    manifest = planned.manifest
    return kube.get_object(manifest["apiVersion"], manifest["kind"], metadata["name"], metadata.get("namespace"))


def _held_object(kube: Kube, held: Held) -> Object | None:
    return kube.get_object(held.api_version, held.kind, held.name, held.namespace or None)


def _live(
    kube: Kube, items: Iterable[_Item], get: Callable[[Kube, _Item], Object | None]
) -> list[tuple[_Item, Object]]:
    """Return the items that exist on the server, with their live objects."""
    asked = list(items)
    with ThreadPoolExecutor(_REQUESTS) as pool:
        found = list(pool.map(lambda item: get(kube, item), asked))
    return [(item, live) for item, live in zip(asked, found, strict=True) if live is not None]


def _releases(plan: Plan, kube: Kube, engine: Engine) -> list[Adopted]:
    """Return the planned releases that exist and that the state misses.

    A release carries no label. It is managed if mlcluster noted it before its first installation (baseline.py): the
    check for existing installations has refused any other release of that name by then.
    """
    held = {one.plan_id for one in engine.resources()}
    noted = baseline.noted_releases(kube)
    found = []
    for release in plan.releases:
        wanted = release.realisation == "helm" and release.id not in held
        if not wanted or noted.get(release.name) != release.namespace:
            continue
        if records_of(kube, release.namespace, release.name):
            fields = {"name": release.name, "namespace": release.namespace, "chart": release.chart}
            inputs = {**fields, "version": release.version}
            identifier = f"{release.namespace}/{release.name}"
            found.append(Adopted(release.id, RELEASE, identifier, inputs, inputs, release.needs))
    return found


def _adopt(engine: Engine, live: LiveCluster, adopted: list[Adopted], progress: Progress) -> None:
    if not adopted:
        return
    progress.say(f"An interrupted run left {_counted(adopted)}. Adding to the state: {_names(adopted)}.")
    settings = {"kubeconfig": live.kubeconfig, "clusterIdentifier": live.uid}
    engine.adopt(adopted, settings if live.context is None else {**settings, "context": live.context})


def _refusal(foreign: list[Foreign]) -> MlclusterError:
    told = "; ".join(one.text for one in foreign[:_SHOWN])
    more = f"; and {len(foreign) - _SHOWN} more" if len(foreign) > _SHOWN else ""
    hint = "Delete or rename these objects, or label them as managed if no other party needs them."
    happened = f"the names of managed objects are in use: {told}{more}"
    return MlclusterError("comparing the plan with the cluster", happened, hint)


def _counted(items: list[Adopted]) -> str:
    return "1 resource" if len(items) == 1 else f"{len(items)} resources"


def _names(items: list[Adopted]) -> str:
    shown = ", ".join(one.plan_id for one in items[:_SHOWN])
    return shown + (f" and {len(items) - _SHOWN} more" if len(items) > _SHOWN else "")
