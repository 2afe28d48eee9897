"""The objects of a controller's chart in a lab: applied in order, recorded, and deleted."""

import json
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mlcluster.kube.client import Kube
from mlcluster.lab import pki
from mlcluster.lab.controllers.adaptation import Arranged, Manifest
from mlcluster.lab.controllers.crds import FIELD_MANAGER, await_established
from mlcluster.lab.failures import NotReady
from mlcluster.progress import Task
from mlcluster.waiting import wait_while

_AT_ONCE = 8
_GONE_SECONDS = 300.0  # a namespace takes 6 to 50 s on an idle machine


@dataclass(frozen=True)
class Waiting:
    """Progress reporting and checks of a wait.

    Attributes:
        task: shows the name of a remaining object.
        log: log of the component that deletes namespaces.
        check: called in every round; raises if a component that the wait depends on has ended.
    """

    task: Task
    log: Path
    check: Callable[[], None]


def apply(kube: Kube, arranged: Arranged, home: Path, waiting: Waiting) -> None:
    """Apply objects in waves, and delete objects of an earlier configuration that this one lacks.

    The objects are recorded in `home` first, so that an interrupted start can be removed. The function first waits for
    objects that are being deleted, because the API server rejects new objects in such a namespace.
    """
    wanted = [_coordinates(item) for item in (*arranged.hooks, *arranged.first)]
    stale = [item for item in noted(home) if item not in wanted]
    _note(home, [*wanted, *stale])
    delete(kube, stale)
    await_gone(kube, _being_deleted(kube, wanted), (), waiting)
    namespace, rest = arranged.first[0], arranged.first[1:]
    kube.apply(namespace, field_manager=FIELD_MANAGER)
    _each(kube, rest)
    await_established(kube, arranged.crds)
    _each(kube, arranged.hooks)
    _note(home, wanted)


def noted(home: Path) -> list[Manifest]:
    """Return apiVersion, kind, name and namespace of the applied objects."""
    try:
        found: list[Manifest] = json.loads(_file(home).read_text())
    except FileNotFoundError:
        return []
    return found


def forget(home: Path) -> None:
    """Record that no object is applied."""
    _file(home).unlink(missing_ok=True)


def all_there(kube: Kube, home: Path) -> bool:
    """Return whether all applied objects exist; a hundred reads take as long as the apply of one CRD."""
    items = noted(home)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return bool(items) and all(pool.map(lambda item: _lives(kube, item), items))


def is_hook(item: Manifest) -> bool:
    """Return whether the object makes the API server call the controller; it is deleted before the controller stops."""
    kind = str(item["kind"])
    return kind.endswith("WebhookConfiguration") or kind == "APIService"


def is_inside(item: Manifest, namespace: str) -> bool:
    """Return whether the object is deleted with the controller's namespace."""
    return bool(item["metadata"].get("namespace") == namespace)


def delete(kube: Kube, items: list[Manifest]) -> None:
    """Delete all objects that exist, without a wait."""

    def one(item: Manifest) -> None:
        metadata = item["metadata"]
        kube.delete(item["apiVersion"], item["kind"], metadata["name"], metadata.get("namespace"))

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(one, items))


def await_gone(kube: Kube, items: list[Manifest], groups: tuple[str, ...], waiting: Waiting) -> None:
    """Return once none of the objects exists, nor the API services for CRDs of these groups.

    Raises:
        NotReady: objects remain after five minutes; the error names them, and what the first one waits for.
    """
    remaining = items

    def look() -> list[Manifest]:
        nonlocal remaining
        remaining = [item for item in remaining if _get(kube, item) is not None] or _api_services(kube, groups)
        return remaining

    def on_wait(left: list[Manifest]) -> None:
        waiting.check()
        waiting.task.update(f"waiting for the deletion of {_named(left)}")

    if left := wait_while(look, _GONE_SECONDS, on_wait):
        message = f"still present: {_named(left)}{_held_by(_get(kube, left[0]))}"
        raise NotReady("the deletion of a controller's objects", _GONE_SECONDS, message, waiting.log)


def _named(items: list[Manifest]) -> str:
    more = f" and {len(items) - 5} more" if len(items) > 5 else ""
    return ", ".join(f"{item['kind']}/{item['metadata']['name']}" for item in items[:5]) + more


def _held_by(live: Manifest | None) -> str:
    """Return what blocks the deletion of an object: its finalizers, and the messages of the API server."""
    if live is None:
        return ""
    finalizers = live["metadata"].get("finalizers") or (live.get("spec") or {}).get("finalizers") or []
    conditions = (live.get("status") or {}).get("conditions") or []
    told = [str(entry.get("message")) for entry in conditions if "Remaining" in str(entry.get("type"))]
    return "".join(f"; {text}" for text in [*([f"finalizers: {', '.join(finalizers)}"] if finalizers else []), *told])


def _each(kube: Kube, items: Iterable[Manifest]) -> None:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(lambda item: kube.apply(item, field_manager=FIELD_MANAGER), items))


def _note(home: Path, items: list[Manifest]) -> None:
    pki.write_private(_file(home), json.dumps(items).encode())


def _file(home: Path) -> Path:
    return home / "applied.json"


def _coordinates(item: Manifest) -> Manifest:
    metadata = {key: item["metadata"][key] for key in ("name", "namespace") if key in item["metadata"]}
    return {"apiVersion": item["apiVersion"], "kind": item["kind"], "metadata": metadata}


def _being_deleted(kube: Kube, items: list[Manifest]) -> list[Manifest]:
    """Return the objects that are being deleted; they are read in parallel."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = list(pool.map(lambda item: _get(kube, item), items))
    return [item for item, live in zip(items, found, strict=True) if live is not None and _is_going(live)]


def _lives(kube: Kube, item: Manifest) -> bool:
    live = _get(kube, item)
    return live is not None and not _is_going(live)


def _is_going(live: Manifest) -> bool:
    return bool(live["metadata"].get("deletionTimestamp"))


def _get(kube: Kube, item: Manifest) -> Manifest | None:
    metadata = item["metadata"]
    return kube.get_object(item["apiVersion"], item["kind"], metadata["name"], metadata.get("namespace"))


def _api_services(kube: Kube, groups: tuple[str, ...]) -> list[Manifest]:
    """Return the API services of CRDs, which the API server deletes some time after the CRDs."""
    found = kube.list("apiregistration.k8s.io/v1", "APIService")
    return [item for item in found if _belongs(item["spec"].get("group", ""), groups)]


def _belongs(group: str, groups: tuple[str, ...]) -> bool:
    """Return whether a group is one of `groups` or below Kueue's; Trainer's groups are not those of kubeflow.org."""
    return group in groups or (group.endswith(".kueue.x-k8s.io") and "kueue.x-k8s.io" in groups)
