"""Start the bare control plane: a new one, one with data of an earlier run, or the processes that are missing."""

import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from mlcluster.lab import components, configs, keys, pki, probe
from mlcluster.lab.failures import NotReady, PortTaken
from mlcluster.lab.layout import Layout
from mlcluster.lab.ports import LOOPBACK, Ports
from mlcluster.lab.record import Record
from mlcluster.lab.running import READY_SECONDS, Book
from mlcluster.progress import Task
from mlcluster.waiting import wait_while

_TRIES = 3
_SETTLED_SECONDS = 0.6  # the controllers create their service accounts within this of one another


def bring_up(book: Book, task: Task, choose: Callable[[], Ports] = Ports.free) -> None:
    """Start everything of the bare control plane that does not run, and wait until it is ready.

    When a port is taken everything is stopped and started on other ports, three times at most. Stopping what was
    started when this does not succeed is the caller's.
    """
    for attempt in range(1, _TRIES + 1):
        try:
            _start(book, task)
        except PortTaken as taken:
            book.end_all()
            if attempt == _TRIES:
                raise
            task.update(f"a port of {taken.component} is taken: trying others")
            _choose_again(book, choose)
        else:
            return


def prepare(layout: Layout) -> None:
    """Make the private directory with fresh certificates."""
    layout.root.mkdir(parents=True, mode=0o700, exist_ok=True)
    layout.root.chmod(0o700)
    layout.logs.mkdir(exist_ok=True)
    pki.write(layout.pki, pki.files())


def note_baseline(layout: Layout, ports: Ports) -> None:
    """Write down what a bare control plane stores, once its namespaces are whole and all stays the same."""
    known: frozenset[str] = frozenset()
    since = began = time.monotonic()
    while not keys.has_whole_namespaces(known) or time.monotonic() - since < _SETTLED_SECONDS:
        if time.monotonic() - began > READY_SECONDS:
            log = layout.log("kube-controller-manager")
            raise NotReady("its namespaces", READY_SECONDS, "something is missing in them", log)
        time.sleep(0.1)
        found = keys.lasting(keys.stored(layout, ports.etcd))
        if found != known:
            known, since = found, time.monotonic()
    pki.write_private(layout.baseline, "\n".join(sorted(known)).encode())


def server_of(ports: Ports) -> str:
    """The address of the API server."""
    return f"https://{LOOPBACK}:{ports.api}"


def _start(book: Book, task: Task) -> None:
    layout = book.layout
    pki.complete(layout.pki)
    _write_configs(layout, book.record)
    for number, component in enumerate(
        (components.etcd(layout, book.record), components.apiserver(layout, book.record)), start=1
    ):
        task.update(component.name, done=number, total=5)
        book.launch(component)
        book.wait(component)
    _grant_kwok(layout)
    side_by_side = list(components.clients(layout, book.record))
    for component in side_by_side:
        book.launch(component)
    for number, component in enumerate(side_by_side, start=3):
        task.update(component.name, done=number, total=5)
        book.wait(component)
    _await_service_account(book)


def _write_configs(layout: Layout, record: Record) -> None:
    authority = layout.certificate("ca").read_bytes()
    for user in pki.USERS:
        certificate, key = layout.certificate(user).read_bytes(), layout.key(user).read_bytes()
        document = configs.kubeconfig(user, server_of(record.ports), authority, certificate, key)
        pki.write_private(layout.kubeconfig(user), configs.written(document))
    pki.write_private(layout.scheduler_config, configs.written(configs.scheduler(layout)))
    pki.write_private(layout.kwok_config, configs.written(*configs.kwok()))


def _grant_kwok(layout: Layout) -> None:
    from mlcluster.kube.client import Kube

    with Kube.from_kubeconfig(layout.kubeconfig("admin")) as kube:
        for manifest in configs.kwok_rights():
            kube.apply(manifest, field_manager="mlcluster-lab")


def _await_service_account(book: Book) -> None:
    """Before this service account exists no pod can be created."""
    path = "/api/v1/namespaces/default/serviceaccounts/default"
    layout = book.layout
    ask = components.trouble_of(partial(probe.https, layout, book.record.ports.api, path))
    needed = ("etcd", "kube-apiserver", "kube-controller-manager")
    if answer := wait_while(ask, READY_SECONDS, lambda _: book.require(*needed), pause=0.05):
        log = layout.log("kube-controller-manager")
        raise NotReady("the service account default/default", READY_SECONDS, answer, log)


def _choose_again(book: Book, choose: Callable[[], Ports]) -> None:
    if not book.record.born:
        shutil.rmtree(book.layout.etcd, ignore_errors=True)
    book.write(replace(book.record, ports=choose()))
