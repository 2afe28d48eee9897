"""Brings Kueue into a running lab, and takes it out again without a trace."""

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.kube.errors import ApiError, Unreachable
from mlcluster.lab import components, keys, kueue, kueue_chart, kueue_objects, pki
from mlcluster.lab.failures import PortTaken
from mlcluster.lab.kueue import Manifest
from mlcluster.lab.layout import Layout
from mlcluster.lab.ports import KueuePorts
from mlcluster.lab.record import KueueRecord, Record
from mlcluster.lab.running import READY_SECONDS, Book, wait_until
from mlcluster.progress import Task

_TRIES = 3


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
        applied = kueue_objects.noted(layout)
        task.update("webhooks")
        kueue_objects.delete(kube, [item for item in applied if kueue_objects.is_hook(item)])
        book.end(components.KUEUE)
        task.update("definitions and rights")
        # The namespace first: it takes the longest, and what is inside goes with it.
        rest = [item for item in applied if not kueue_objects.is_hook(item) and not kueue_objects.is_inside(item)]
        kueue_objects.delete(kube, rest)
        kueue_objects.await_gone(kube, rest, layout)
    kueue_objects.forget(layout)
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
        kueue_objects.apply(kube, arranged, layout)
        task.update("waiting for its webhooks")
        _run(book, kube)


def _run(book: Book, kube: Kube) -> None:
    wanted = book.record.kueue
    visible = wanted is not None and kueue.has_visibility(wanted.config)

    def trouble() -> str:
        return webhook_trouble(kube) or (_visibility_trouble(kube) if visible else "")

    for component in components.kueue(book.layout, book.record):
        book.launch(component)
        book.wait(component)
        running = book.record.process(components.KUEUE)
        if running is not None:
            wait_until(trouble, running, READY_SECONDS)


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


def _visibility_trouble(kube: Kube) -> str:
    try:
        kube.request("GET", f"/apis/visibility.{kueue.API_GROUP}/v1beta2")
    except (ApiError, Unreachable) as error:
        return error.happened
    return ""


def _certificates(layout: Layout) -> dict[str, bytes]:
    directory = layout.kueue / "certs"
    if not (directory / "tls.key").exists():
        pki.write(directory, pki.kueue_files())
    return {name: (directory / name).read_bytes() for name in pki.WEBHOOK_SECRET_FILES}


def recorded(config: Manifest, current: Record, chart: Path) -> KueueRecord:
    """The record of a Kueue with `config`; a lab that had one keeps its ports."""
    ports = current.kueue.ports if current.kueue is not None else KueuePorts.free()
    return KueueRecord(ports, config, chart)
