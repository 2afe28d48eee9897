"""Start of the bare control plane: a new one, one with data of an earlier run, or its missing processes."""

import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from mlcluster.lab import components, configs, keys, pki, probe
from mlcluster.lab.failures import NotReady, PortTaken
from mlcluster.lab.lab_state import READY_SECONDS, LabState
from mlcluster.lab.layout import Layout
from mlcluster.lab.ports import LOOPBACK, Ports
from mlcluster.lab.record import Record
from mlcluster.progress import Task
from mlcluster.waiting import wait_while

_TRIES = 3
_SETTLED_SECONDS = 0.6  # the longest time between the service accounts that the controllers create


def bring_up(lab_state: LabState, task: Task, choose: Callable[[], Ports] = Ports.free) -> None:
    """Start all missing processes of the bare control plane, and wait until they are ready.

    If a port is taken, all processes are stopped and started on other ports, at most three times. On failure, the
    caller must stop the started processes.
    """
    for attempt in range(1, _TRIES + 1):
        try:
            _start(lab_state, task)
        except PortTaken as taken:
            lab_state.end_all()
            if attempt == _TRIES:
                raise
            task.update(f"a port of {taken.component} is taken: trying others")
            _choose_again(lab_state, choose)
        else:
            return


def prepare(layout: Layout) -> None:
    """Create the private directory with new certificates."""
    layout.root.mkdir(parents=True, mode=0o700, exist_ok=True)
    layout.root.chmod(0o700)
    layout.logs.mkdir(exist_ok=True)
    pki.write(layout.pki, pki.files())


def note_baseline(layout: Layout, ports: Ports) -> None:
    """Record the keys that a bare control plane stores, once its namespaces are complete and the keys stay the same."""
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
    """Return the address of the API server."""
    return f"https://{LOOPBACK}:{ports.api}"


def _start(lab_state: LabState, task: Task) -> None:
    layout = lab_state.layout
    pki.complete(layout.pki)
    _write_configs(layout, lab_state.record)
    for number, component in enumerate(
        (components.etcd(layout, lab_state.record), components.apiserver(layout, lab_state.record)), start=1
    ):
        task.update(component.name, done=number, total=5)
        lab_state.launch(component)
        lab_state.wait(component)
    _grant_kwok(layout)
    side_by_side = list(components.clients(layout, lab_state.record))
    for component in side_by_side:
        lab_state.launch(component)
    for number, component in enumerate(side_by_side, start=3):
        task.update(component.name, done=number, total=5)
        lab_state.wait(component)
    _await_service_account(lab_state)


def _write_configs(layout: Layout, record: Record) -> None:
    authority = layout.certificate("ca").read_bytes()
    for user in pki.USERS:
        certificate, key = layout.certificate(user).read_bytes(), layout.key(user).read_bytes()
        document = configs.kubeconfig(user, server_of(record.ports), authority, certificate, key)
        pki.write_private(layout.kubeconfig(user), configs.as_yaml(document))
    pki.write_private(layout.scheduler_config, configs.as_yaml(configs.scheduler(layout)))
    pki.write_private(layout.kwok_config, configs.as_yaml(*configs.kwok()))


def _grant_kwok(layout: Layout) -> None:
    from mlcluster.kube.client import Kube

    with Kube.from_kubeconfig(layout.kubeconfig("admin")) as kube:
        for manifest in configs.kwok_rights():
            kube.apply(manifest, field_manager="mlcluster-lab")


def _await_service_account(lab_state: LabState) -> None:
    """Wait for the default service account, without which no pod can be created."""
    path = "/api/v1/namespaces/default/serviceaccounts/default"
    layout = lab_state.layout
    ask = components.trouble_of(partial(probe.https, layout, lab_state.record.ports.api, path))
    needed = ("etcd", "kube-apiserver", "kube-controller-manager")
    if answer := wait_while(ask, READY_SECONDS, lambda _: lab_state.require(*needed), pause=0.05):
        log = layout.log("kube-controller-manager")
        raise NotReady("the service account default/default", READY_SECONDS, answer, log)


def _choose_again(lab_state: LabState, choose: Callable[[], Ports]) -> None:
    if not lab_state.record.born:
        shutil.rmtree(lab_state.layout.etcd, ignore_errors=True)
    lab_state.write(replace(lab_state.record, ports=choose()))
