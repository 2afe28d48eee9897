"""Delete workloads and namespaces of teams before the platform, while its controllers still run.

Order: workloads of components, the namespaces with everything in them, then the stack.
A finalizer is removed only from an object that is being deleted, that is managed or in a managed namespace, and whose
controller is gone. Each removal is reported.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from mlcluster.catalog.residue import Residue, residue_of, split_kind
from mlcluster.deploy.removal.dead_endpoints import remove_broken
from mlcluster.deploy.session.stack import Stack
from mlcluster.engine.identity import RELEASE
from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube, Object
from mlcluster.kube.controllers import list_if_served, state_of
from mlcluster.kube.errors import ApiError
from mlcluster.plan import names
from mlcluster.progress import Progress, Task
from mlcluster.waiting import wait_while

WORKLOAD_SECONDS = 120.0
NAMESPACE_SECONDS = 300.0
_PAUSE = 0.5


@dataclass(frozen=True, slots=True)
class Installed:
    """A managed Helm release, and its known residue."""

    name: str
    namespace: str
    residue: Residue


def installed_releases(stack: Stack) -> list[Installed]:
    """Return the Helm releases that a stack holds."""
    found = []
    for resource in stack.engine.resources():
        if resource.type == RELEASE:
            name, namespace = resource.identity.name, resource.identity.namespace
            found.append(Installed(name, namespace, residue_of(name)))
    return found


def empty_namespaces(kube: Kube, cluster: str, releases: Sequence[Installed], progress: Progress) -> None:
    """Delete the workloads of components in the namespaces of teams, then the namespaces.

    Args:
        kube: the cluster.
        cluster: its name, the value of the cluster label.
        releases: releases whose controllers may still run; they must outlive this step.
        progress: reports the awaited objects, and every finalizer that is removed.

    Raises:
        MlclusterError: a namespace is not deleted in time; names the objects that block it.
    """
    if not releases:
        return
    spaces = [item["metadata"] for item in kube.list("v1", "Namespace", None, names.managed_selector(cluster))]
    found = [space["name"] for space in spaces if names.TEAM in space["labels"]]
    gone = [release for release in releases if _gone(kube, release)]
    for release in gone:
        remove_broken(kube, release.name, release.namespace, release.residue, progress)
    _delete_managed(kube, names.owned(cluster), gone, progress)
    if found:
        _delete_workloads(kube, found, releases, progress)
        _delete_namespaces(kube, found, releases, progress)


def _delete_workloads(kube: Kube, spaces: Sequence[str], releases: Sequence[Installed], progress: Progress) -> None:
    kinds = [kind for release in releases for kind in release.residue.workloads]
    there = [item for kind in kinds for item in _in(kube, kind, spaces)]
    if not there:
        return
    with progress.task(f"deleting {len(there)} workloads of components") as task:
        for item in there:
            _delete(kube, item)

        def on_wait(left: list[Object]) -> None:
            task.update(f"{_told(left[0])} is still there", done=len(there) - len(left), total=len(there))
            _strip(kube, left, releases, progress)

        left = wait_while(
            lambda: [item for kind in kinds for item in _in(kube, kind, spaces)],
            WORKLOAD_SECONDS,
            on_wait,
            pause=_PAUSE,
        )
    if left:
        progress.say(f"{len(left)} workloads were not deleted in time; they are deleted with their namespaces")


def _delete_namespaces(kube: Kube, spaces: Sequence[str], releases: Sequence[Installed], progress: Progress) -> None:
    with progress.task(f"deleting {', '.join(spaces)}") as task:
        for name in spaces:
            kube.delete("v1", "Namespace", name)
        held: list[Object] = []

        def on_wait(left: list[Object]) -> None:
            held[:] = [item for release in releases for item in _finalized(kube, release, spaces)]
            _strip(kube, held, releases, progress)
            _show(task, left, held)

        left = wait_while(
            lambda: [found for name in spaces if (found := kube.get_object("v1", "Namespace", name))],
            NAMESPACE_SECONDS,
            on_wait,
            pause=_PAUSE,
        )
        if left:
            raise _stuck(left[0], held)


def _delete_managed(kube: Kube, labels: Mapping[str, str], gone: Sequence[Installed], progress: Progress) -> None:
    """Delete managed objects that would wait for a controller that is gone: the engine finds them deleted."""
    for release in gone:
        for kinds in release.residue.finalizers.values():
            managed = [item for kind in kinds for item in _with_labels(kube, kind, labels)]
            for item in managed:
                _delete(kube, item)
            _strip(kube, [item for kind in kinds for item in _with_labels(kube, kind, labels)], gone, progress)


def _strip(kube: Kube, items: Iterable[Object], releases: Sequence[Installed], progress: Progress) -> None:
    """Remove finalizers whose controller is gone from objects that are being deleted."""
    gone = cache(lambda owner: _gone(kube, releases[owner]))  # asked once a sweep: there may be thousands of objects
    for item in items:
        metadata = item["metadata"]
        if not metadata.get("deletionTimestamp"):
            continue
        for finalizer in metadata.get("finalizers") or []:
            owner = next((index for index, release in enumerate(releases) if _owns(release, finalizer, item)), None)
            if owner is None or not gone(owner):
                continue
            name = releases[owner].name
            left = [other for other in metadata["finalizers"] if other != finalizer]
            changed = {"metadata": {"finalizers": left, "resourceVersion": metadata["resourceVersion"]}}
            if _patched(kube, item, changed):
                progress.say(f"removed the finalizer {finalizer} from {_told(item)}: its controller, {name}, is gone")
                metadata["finalizers"] = left
            break  # the object has changed: the next look takes the next one


def _patched(kube: Kube, item: Object, changed: Object) -> bool:
    metadata = item["metadata"]
    try:
        kube.patch(item["apiVersion"], item["kind"], metadata["name"], changed, metadata.get("namespace"))
    except ApiError as error:
        if error.status in {404, 409}:  # another client was quicker
            return False
        raise
    return True


def _owns(release: Installed, finalizer: str, item: Object) -> bool:
    return f"{item['apiVersion']}/{item['kind']}" in release.residue.finalizers.get(finalizer, ())


def _gone(kube: Kube, release: Installed) -> bool:
    return state_of(kube, release.namespace, release.name) == "gone"


def _finalized(kube: Kube, release: Installed, spaces: Sequence[str]) -> Iterator[Object]:
    """Yield objects in these namespaces that are being deleted and wait for a controller of the release."""
    for finalizer, kinds in release.residue.finalizers.items():
        for item in (item for kind in kinds for item in _in(kube, kind, spaces)):
            metadata = item["metadata"]
            if metadata.get("deletionTimestamp") and finalizer in (metadata.get("finalizers") or []):
                yield item


def _in(kube: Kube, kind: str, spaces: Sequence[str]) -> Iterator[Object]:
    """Yield the objects of a kind in these namespaces: one list of a custom kind, however many teams there are.

    Of pods there may be far more elsewhere, so these are asked for by namespace.
    """
    version, name = split_kind(kind)
    places: list[str | None] = [None] if "/" in version else [*spaces]
    wanted = set(spaces)
    for place in places:
        for item in list_if_served(kube, version, name, place):
            if item["metadata"].get("namespace") in wanted:  # a kind of the whole cluster has none
                yield item


def _with_labels(kube: Kube, kind: str, labels: Mapping[str, str]) -> list[Object]:
    return [
        item
        for item in list_if_served(kube, *split_kind(kind))
        if labels.items() <= (item["metadata"].get("labels") or {}).items()
    ]


def _delete(kube: Kube, item: Object) -> None:
    metadata = item["metadata"]
    kube.delete(item["apiVersion"], item["kind"], metadata["name"], metadata.get("namespace"), uid=metadata["uid"])


def _told(item: Object) -> str:
    metadata = item["metadata"]
    return "/".join(filter(None, (item["kind"], metadata.get("namespace"), metadata["name"])))


def _show(task: Task, left: Sequence[Object], held: Sequence[Object]) -> None:
    waits = f": {_told(held[0])} waits for {', '.join(held[0]['metadata']['finalizers'])}" if held else ""
    task.update(f"{len(left)} namespaces are going{waits}")


def _stuck(namespace: Object, held: Sequence[Object]) -> MlclusterError:
    conditions = (namespace.get("status") or {}).get("conditions") or []
    told = [str(entry.get("message")) for entry in conditions if entry.get("status") == "True"]
    waits = [f"{_told(item)} waits for {', '.join(item['metadata']['finalizers'])}" for item in held[:3]]
    name = namespace["metadata"]["name"]
    return MlclusterError(
        f"deleting namespace {name}",
        "; ".join([f"it is still being deleted after {NAMESPACE_SECONDS:.0f} s", *waits, *told]),
        "Repair the controller that removes these finalizers, or delete its Deployment; then run down again.",
    )
