"""Find managed objects that neither the plan nor the state has, for `down` with the official provider.

An interrupted run of that provider can leave an object that no state has, and a later spec may no longer plan it. Its
labels and its field manager show that mlcluster created it. `down` lists these objects before it asks.
"""

from dataclasses import dataclass
from typing import Any

from mlcluster.deploy.contents import live_with
from mlcluster.deploy.ownership import baseline
from mlcluster.deploy.session import owner
from mlcluster.deploy.session.cluster import LiveCluster
from mlcluster.deploy.session.stack import Stack
from mlcluster.kube.client import Kube
from mlcluster.kube.controllers import list_if_served
from mlcluster.kube.errors import ApiError
from mlcluster.kubernetes_provider.ownership import describe
from mlcluster.plan import names
from mlcluster.plan.model import Plan
from mlcluster.progress import Progress
from mlcluster.report.numbers import counted
from mlcluster.report.screen import Screen

Object = dict[str, Any]

_OWN_RECORDS = {(owner.NAMESPACE, owner.NAME), (baseline.NAMESPACE, baseline.NAME)}
"""ConfigMaps that carry the labels of the cluster and that no stack holds."""
_NEVER = frozenset({"Namespace", "PersistentVolume", "PersistentVolumeClaim"})
"""Kinds that hold work and data of users: labels alone do not justify their deletion."""
_LAST = {"CustomResourceDefinition": 1}
"""Kinds that take other objects along, deleted after them."""


@dataclass(frozen=True, slots=True)
class Unplanned:
    """Objects with the labels of the cluster that neither the plan nor the state has.

    Attributes:
        deleted: objects that `down` deletes, in this order.
        left: objects that `down` keeps, with the reason.
    """

    deleted: tuple[Object, ...] = ()
    left: tuple[str, ...] = ()


def unplanned(plan: Plan, live: LiveCluster, stacks: list[Stack]) -> Unplanned:
    """Return the labeled objects that neither the plan nor the state has; none with the built-in provider."""
    if plan.cluster.kubernetes_provider != "official":
        return Unplanned()
    deleted, left = [], []
    for item in _unknown(plan, live.kube, stacks[-1]):
        if item["kind"] in _NEVER:
            left.append(f"{describe(item)}: `down` never deletes a {item['kind']} because of its labels alone")
        elif not _written_by_mlcluster(item):
            left.append(f"{describe(item)}: it has the labels of the cluster, but mlcluster wrote none of its fields")
        else:
            deleted.append(item)
    return Unplanned(tuple(deleted), tuple(left))


def show_unplanned(screen: Screen, kube: Kube, found: Unplanned) -> None:
    """Print the objects that `down` deletes, with their contents, and those that it keeps."""
    if found.deleted:
        screen.say(f"outside of the stacks: {counted(len(found.deleted), 'object', 'objects')} to delete")
    for item in found.deleted:
        inside = live_with(kube, item["kind"], item["metadata"]["name"])
        screen.say(f"  - {describe(item)}" + (f" with {', '.join(inside)}" if inside else ""))
    for text in found.left:
        screen.say(f"  left: {text}")


def delete_unplanned(kube: Kube, found: Unplanned, progress: Progress) -> None:
    """Delete the listed objects, each by its UID."""
    for item in found.deleted:
        metadata = item["metadata"]
        place = (metadata["name"], metadata.get("namespace"))
        try:
            kube.delete(item["apiVersion"], item["kind"], *place, uid=metadata["uid"])
        except ApiError as error:
            if error.status != 409:  # another object has its name by now
                raise
            continue
        progress.say(f"Deleted {describe(item)}: it has the labels of the cluster.")


def _unknown(plan: Plan, kube: Kube, platform: Stack) -> list[Object]:
    held = platform.engine.held_objects()
    kinds = {(one.manifest["apiVersion"], one.manifest["kind"]) for one in plan.objects}
    kinds |= {(one.api_version, one.kind) for one in held}
    known = {_place(one.manifest) for one in plan.objects} | {(one.kind, one.namespace, one.name) for one in held}
    selector = names.managed_selector(plan.cluster.name)
    found = [
        item
        for api_version, kind in sorted(kinds, key=lambda entry: (_LAST.get(entry[1], 0), entry))
        for item in list_if_served(kube, api_version, kind, label_selector=selector)
        if _place(item) not in known and _place(item)[1:] not in _OWN_RECORDS and not _is_going(item)
    ]
    return list({item["metadata"]["uid"]: item for item in found}.values())  # one kind may be served in two versions


def _place(manifest: Object) -> tuple[str, str, str]:
    metadata = manifest["metadata"]
    return manifest["kind"], metadata.get("namespace") or "", metadata["name"]


def _is_going(item: Object) -> bool:
    """Return whether the object is being deleted, or is garbage-collected with its owner."""
    return bool(item["metadata"].get("deletionTimestamp") or item["metadata"].get("ownerReferences"))


def _written_by_mlcluster(item: Object) -> bool:
    managers = {str(entry.get("manager")) for entry in item["metadata"].get("managedFields") or []}
    return names.MANAGER in managers or any(manager.startswith("pulumi-") for manager in managers)
