"""Brings Kueue into a running lab, and takes it out again without a trace."""

import json
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.kube.errors import ApiError, Unreachable
from mlcluster.lab import components, keys, kueue, kueue_chart, pki
from mlcluster.lab.failures import NotReady, PortTaken
from mlcluster.lab.kueue import Arranged, Manifest
from mlcluster.lab.layout import Layout
from mlcluster.lab.ports import KueuePorts
from mlcluster.lab.record import KueueRecord, Record
from mlcluster.lab.running import READY_SECONDS, Book, wait_until
from mlcluster.progress import Task

_MANAGER = "mlcluster-lab"
_AT_ONCE = 8
_TRIES = 3
_GONE_SECONDS = 60.0


class KueueInUse(MlclusterError):  # noqa: N818 - reads as what it is
    """There are objects of Kueue left; removing its definitions would delete them."""

    def __init__(self, found: Iterable[str]) -> None:
        names = sorted(name.removeprefix(f"/registry/{kueue.API_GROUP}/") for name in found)
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        super().__init__(
            "removing Kueue", f"there are still {', '.join(names[:5])}{more}", "delete them first: `mlcluster down`"
        )


def bring_up(book: Book, task: Task) -> None:
    """Start Kueue as the record says: apply, start, wait until its webhooks answer. Idempotent."""
    for attempt in range(1, _TRIES + 1):
        try:
            _start(book, task)
        except PortTaken:
            book.end(components.KUEUE)
            if attempt == _TRIES or book.record.kueue is None:
                raise
            book.write(replace(book.record, kueue=replace(book.record.kueue, ports=KueuePorts.free())))
        except BaseException:
            book.end(components.KUEUE)
            raise
        else:
            return


def take_down(book: Book, task: Task) -> None:
    """Stop Kueue and delete everything that its chart brought.

    Raises:
        KueueInUse: there are still queues, flavors or workloads; nothing was changed.
    """
    layout, current = book.layout, book.record
    prefix = f"/registry/{kueue.API_GROUP}/"
    in_use = [name for name in keys.stored(layout, current.ports.etcd) if name.startswith(prefix)]
    if in_use:
        raise KueueInUse(in_use)
    with Kube.from_kubeconfig(layout.kubeconfig("admin")) as kube:
        applied = _applied(layout)
        task.update("webhooks")
        _delete(kube, [item for item in applied if _is_hook(item)])
        book.end(components.KUEUE)
        task.update("definitions and rights")
        # The namespace first: it takes the longest, and what is inside goes with it.
        rest = [item for item in applied if not _is_hook(item) and not _is_inside(item)]
        _delete(kube, rest)
        _await_gone(kube, rest, layout)
    _applied_file(layout).unlink(missing_ok=True)
    book.write(replace(book.record, kueue=None))


def _start(book: Book, task: Task) -> None:
    layout, current = book.layout, book.record
    wanted = current.kueue
    if wanted is None:
        message = "no Kueue is recorded"
        raise ValueError(message)
    certificates = _certificates(layout)
    whole = kueue.host_config(wanted.config, wanted.ports, str(layout.kueue / "certs"))
    pki.write_private(layout.kueue_config, json.dumps(whole, indent=1).encode())
    task.update("rendering its chart")
    rendered = kueue_chart.render(current.binaries["helm"], current.binaries["kubectl"], wanted.chart, wanted.config)
    arranged = kueue.arrange(rendered, wanted.config, wanted.ports, certificates)
    with Kube.from_kubeconfig(layout.kubeconfig("admin")) as kube:
        task.update("applying its definitions and rights")
        _note_applied(layout, arranged)
        _apply(kube, arranged)
        task.update("waiting for its webhooks")
        _run(book, kube)


def _run(book: Book, kube: Kube) -> None:
    for component in components.kueue(book.layout, book.record):
        book.launch(component)
        book.wait(component)
        running = book.record.process(components.KUEUE)
        if running is not None:
            wait_until(lambda: webhook_trouble(kube), running, READY_SECONDS)


def webhook_trouble(kube: Kube) -> str:
    """Whether the webhooks work: "" or what is wrong.

    A webhook that the API server has not noticed yet lets everything pass, so success alone says nothing: the answer
    must carry what the mutating webhook adds, and what the validating one refuses must be refused by it.
    """
    flavor = kueue.probe_flavor()
    wrong = {**flavor, "spec": {"nodeLabels": {"not a label": "x"}}}
    try:
        created = kube.create(flavor, dry_run=True)
    except (ApiError, Unreachable) as error:
        return error.happened
    if kueue.FINALIZER not in (created["metadata"].get("finalizers") or []):
        return "the mutating webhook is not called yet"
    return _refusal_trouble(kube, wrong)


def _refusal_trouble(kube: Kube, wrong: Manifest) -> str:
    try:
        kube.create(wrong, dry_run=True)
    except (ApiError, Unreachable) as error:
        return "" if "denied the request" in error.happened else error.happened
    return "the validating webhook is not called yet"


def _certificates(layout: Layout) -> dict[str, bytes]:
    directory = layout.kueue / "certs"
    if not (directory / "tls.key").exists():
        pki.write(directory, pki.kueue_files())
    return {name: (directory / name).read_bytes() for name in pki.WEBHOOK_SECRET_FILES}


def _apply(kube: Kube, arranged: Arranged) -> None:
    namespace, rest = arranged.first[0], arranged.first[1:]
    kube.apply(namespace, field_manager=_MANAGER)
    _each(kube, rest)
    _await_established(kube, arranged.definitions)
    _each(kube, arranged.hooks)


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
            raise MlclusterError("applying Kueue's definitions", message)
        time.sleep(0.05 if waiting else 0)


def _is_established(definition: Manifest) -> bool:
    conditions = (definition.get("status") or {}).get("conditions") or []
    return any(condition["type"] == "Established" and condition["status"] == "True" for condition in conditions)


def _note_applied(layout: Layout, arranged: Arranged) -> None:
    """Before anything is applied, so that an interrupted start can be taken down; what was there before stays in."""
    kept = {json.dumps(_coordinates(item)): None for item in (*arranged.hooks, *arranged.first)}
    kept |= {json.dumps(item): None for item in _applied(layout)}
    pki.write_private(_applied_file(layout), f"[{','.join(kept)}]".encode())


def _coordinates(item: Manifest) -> Manifest:
    metadata = {key: item["metadata"][key] for key in ("name", "namespace") if key in item["metadata"]}
    return {"apiVersion": item["apiVersion"], "kind": item["kind"], "metadata": metadata}


def _applied_file(layout: Layout) -> Path:
    return layout.kueue / "applied.json"


def _applied(layout: Layout) -> list[Manifest]:
    try:
        found: list[Manifest] = json.loads(_applied_file(layout).read_text())
    except FileNotFoundError:
        return []
    return found


def _is_hook(item: Manifest) -> bool:
    kind = str(item["kind"])
    return kind.endswith("WebhookConfiguration") or kind == "APIService"


def _is_inside(item: Manifest) -> bool:
    return bool(item["metadata"].get("namespace") == kueue.NAMESPACE)


def _delete(kube: Kube, items: list[Manifest]) -> None:
    def one(item: Manifest) -> None:
        metadata = item["metadata"]
        kube.delete(item["apiVersion"], item["kind"], metadata["name"], metadata.get("namespace"))

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(one, items))


def _await_gone(kube: Kube, items: list[Manifest], layout: Layout) -> None:
    deadline = time.monotonic() + _GONE_SECONDS
    left = items
    while left := [item for item in left if _exists(kube, item)] or _own_api_services(kube):
        if time.monotonic() > deadline:
            names = ", ".join(f"{item['kind']}/{item['metadata']['name']}" for item in left[:5])
            log = layout.log("kube-controller-manager")
            raise NotReady("the deletion of Kueue's objects", _GONE_SECONDS, f"still there: {names}", log)
        time.sleep(0.1)


def _exists(kube: Kube, item: Manifest) -> bool:
    metadata = item["metadata"]
    found = kube.get_object(item["apiVersion"], item["kind"], metadata["name"], metadata.get("namespace"))
    return found is not None


def _own_api_services(kube: Kube) -> list[Manifest]:
    """The API server removes these by itself some time after the definitions."""
    found = kube.list("apiregistration.k8s.io/v1", "APIService")
    return [item for item in found if item["spec"].get("group", "").endswith(kueue.API_GROUP)]


def recorded(config: Manifest, current: Record, chart: Path) -> KueueRecord:
    """The record of a Kueue with `config`; a lab that had one keeps its ports."""
    ports = current.kueue.ports if current.kueue is not None else KueuePorts.free()
    return KueueRecord(ports, config, chart)
