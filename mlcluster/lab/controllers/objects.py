"""The objects that a controller's chart brings into a lab: applied in order, noted, and deleted again."""

import json
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.lab import pki
from mlcluster.lab.controllers.arranging import Arranged, Manifest
from mlcluster.lab.failures import NotReady
from mlcluster.lab.running import READY_SECONDS

_MANAGER = "mlcluster-lab"
_AT_ONCE = 8
_GONE_SECONDS = 180.0  # a namespace takes 6 to 50 s on an idle machine


def apply(kube: Kube, arranged: Arranged, home: Path) -> None:
    """Apply in waves; what an earlier configuration brought and this one does not is deleted.

    Everything is noted in `home` before anything is applied, so that an interrupted start can be taken down.
    """
    wanted = [_coordinates(item) for item in (*arranged.hooks, *arranged.first)]
    stale = [item for item in noted(home) if item not in wanted]
    _note(home, [*wanted, *stale])
    delete(kube, stale)
    namespace, rest = arranged.first[0], arranged.first[1:]
    kube.apply(namespace, field_manager=_MANAGER)
    _each(kube, rest)
    _await_established(kube, arranged.definitions)
    _each(kube, arranged.hooks)
    _note(home, wanted)


def noted(home: Path) -> list[Manifest]:
    """apiVersion, kind, name and namespace of what was applied."""
    try:
        found: list[Manifest] = json.loads(_file(home).read_text())
    except FileNotFoundError:
        return []
    return found


def forget(home: Path) -> None:
    """Nothing is applied any more."""
    _file(home).unlink(missing_ok=True)


def all_there(kube: Kube, home: Path) -> bool:
    """Whether everything that was applied exists: a hundred questions take as long as to apply one definition."""
    items = noted(home)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return bool(items) and all(pool.map(lambda item: _exists(kube, item), items))


def is_hook(item: Manifest) -> bool:
    """Whether the API server asks the controller because of it: goes first, before the controller does."""
    kind = str(item["kind"])
    return kind.endswith("WebhookConfiguration") or kind == "APIService"


def is_inside(item: Manifest, namespace: str) -> bool:
    """Whether it goes with the controller's namespace."""
    return bool(item["metadata"].get("namespace") == namespace)


def delete(kube: Kube, items: list[Manifest]) -> None:
    """Ask for the deletion of all; what is gone already is fine."""

    def one(item: Manifest) -> None:
        metadata = item["metadata"]
        kube.delete(item["apiVersion"], item["kind"], metadata["name"], metadata.get("namespace"))

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(one, items))


def await_gone(kube: Kube, items: list[Manifest], groups: tuple[str, ...], log: Path) -> None:
    """Return when none of the objects exists, nor the API services that come with definitions of these groups.

    Raises:
        NotReady: some are still there after three minutes.
    """
    deadline = time.monotonic() + _GONE_SECONDS
    left = items
    while left := [item for item in left if _exists(kube, item)] or _api_services(kube, groups):
        if time.monotonic() > deadline:
            names = ", ".join(f"{item['kind']}/{item['metadata']['name']}" for item in left[:5])
            raise NotReady("the deletion of a controller's objects", _GONE_SECONDS, f"still there: {names}", log)
        time.sleep(0.1)


def _each(kube: Kube, items: Iterable[Manifest]) -> None:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(lambda item: kube.apply(item, field_manager=_MANAGER), items))


def _await_established(kube: Kube, names: list[str]) -> None:
    deadline = time.monotonic() + READY_SECONDS
    waiting = set(names)
    while waiting:
        found = kube.list("apiextensions.k8s.io/v1", "CustomResourceDefinition")
        waiting -= {item["metadata"]["name"] for item in found if _is_established(item)}
        if waiting and time.monotonic() > deadline:
            message = f"not established after {READY_SECONDS:.0f} s: {', '.join(sorted(waiting))}"
            raise MlclusterError("applying a controller's definitions", message)
        time.sleep(0.05 if waiting else 0)


def _is_established(definition: Manifest) -> bool:
    conditions = (definition.get("status") or {}).get("conditions") or []
    return any(condition["type"] == "Established" and condition["status"] == "True" for condition in conditions)


def _note(home: Path, items: list[Manifest]) -> None:
    pki.write_private(_file(home), json.dumps(items).encode())


def _file(home: Path) -> Path:
    return home / "applied.json"


def _coordinates(item: Manifest) -> Manifest:
    metadata = {key: item["metadata"][key] for key in ("name", "namespace") if key in item["metadata"]}
    return {"apiVersion": item["apiVersion"], "kind": item["kind"], "metadata": metadata}


def _exists(kube: Kube, item: Manifest) -> bool:
    metadata = item["metadata"]
    found = kube.get_object(item["apiVersion"], item["kind"], metadata["name"], metadata.get("namespace"))
    return found is not None


def _api_services(kube: Kube, groups: tuple[str, ...]) -> list[Manifest]:
    """The API server removes these by itself some time after the definitions."""
    found = kube.list("apiregistration.k8s.io/v1", "APIService")
    return [item for item in found if _belongs(item["spec"].get("group", ""), groups)]


def _belongs(group: str, groups: tuple[str, ...]) -> bool:
    """Kueue has groups below its own one; those of Trainer are not those of the MPI operator, kubeflow.org."""
    return group in groups or (group.endswith(".kueue.x-k8s.io") and "kueue.x-k8s.io" in groups)
