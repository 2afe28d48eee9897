"""Start of a controller in a running lab, and its removal without leftover resources."""

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.lab import components, keys, pki
from mlcluster.lab.controllers import objects
from mlcluster.lab.controllers.adaptation import Manifest
from mlcluster.lab.controllers.prerequisites import provide, waiting, withdraw
from mlcluster.lab.controllers.registry import controller
from mlcluster.lab.failures import PortTaken
from mlcluster.lab.lab_state import READY_SECONDS, LabState, wait_until
from mlcluster.lab.ports import free_ports
from mlcluster.lab.record import ControllerRecord
from mlcluster.progress import Task

_TRIES = 3


class ControllerInUse(MlclusterError):  # noqa: N818 - reads as what it is
    """Objects of its kinds exist, which the removal of their CRDs would delete."""

    def __init__(self, name: str, found: Iterable[str]) -> None:
        names = sorted(key.removeprefix("/registry/").partition("/")[2] for key in found)
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        super().__init__(
            f"removing {name}",
            f"there are still {', '.join(names[:5])}{more}",
            "Delete them first, or run `mlcluster down`, which deletes them too.",
        )


def ports_of(name: str) -> dict[str, int]:
    """Return free ports for a controller."""
    names = controller(name).port_names
    return dict(zip(names, free_ports(len(names)), strict=True))


def bring_up(lab_state: LabState, name: str, task: Task) -> None:
    """Apply the objects of a recorded controller, start it, and wait until it works. Idempotent."""
    for attempt in range(1, _TRIES + 1):
        wanted = _recorded(lab_state, name)
        try:
            _start(lab_state, wanted, task)
        except PortTaken:
            lab_state.end(name)
            if attempt == _TRIES:
                raise
            lab_state.write(lab_state.record.with_controller(replace(wanted, ports=ports_of(name))))
        except BaseException:
            lab_state.end(name)
            raise
        else:
            return


def works(lab_state: LabState, name: str) -> bool:
    """Return whether the controller runs as recorded and works, so that its objects exist and no start is needed."""
    wanted = _recorded(lab_state, name)
    component = components.of_controller(lab_state.layout, wanted)
    if not lab_state.runs(component) or component.trouble():
        return False
    with Kube.from_kubeconfig(lab_state.layout.kubeconfig("admin")) as kube:
        return not controller(name).trouble(kube, components.site(lab_state.layout, wanted))


def in_use(lab_state: LabState, name: str) -> list[str]:
    """Return the keys of objects of its kinds."""
    prefixes = tuple(f"/registry/{group}/" for group in controller(name).groups)
    return [key for key in keys.stored(lab_state.layout, lab_state.record.ports.etcd) if key.startswith(prefixes)]


def take_down(lab_state: LabState, names: Iterable[str], task: Task) -> None:
    """Stop controllers in reverse start order, and delete all objects of their charts.

    They are removed together, because the deletion of their namespaces takes most of the time. The record marks them
    for removal before the first change, so that a command after a kill continues the removal and starts none of them.

    Raises:
        ControllerInUse: objects of their kinds exist, so this changed nothing.
    """
    going = [known.name for known in reversed(lab_state.record.controllers) if known.name in set(names)]
    for name in going:
        if name not in lab_state.record.removing and (used := in_use(lab_state, name)):
            raise ControllerInUse(name, used)
    for name in going:
        lab_state.write(lab_state.record.with_controller(replace(_recorded(lab_state, name), removing=True)))
    groups = tuple(group for name in going for group in controller(name).groups)
    with Kube.from_kubeconfig(lab_state.layout.kubeconfig("admin")) as kube:
        rest = [item for name in going for item in _stop(lab_state, name, kube, task)]
        # Namespaces first: during the deletion of CRDs, the namespace controller cannot list all kinds.
        for note, wave in (("namespaces", True), ("CRDs and permissions", False)):
            items = [item for item in rest if (item["kind"] == "Namespace") is wave]
            task.update(note)
            objects.delete(kube, items)
            objects.await_gone(kube, items, () if wave else groups, waiting(lab_state, task))
    for name in going:
        withdraw(_home(lab_state, name))
        lab_state.write(lab_state.record.without_controller(name))


def _stop(lab_state: LabState, name: str, kube: Kube, task: Task) -> list[Manifest]:
    """Delete the webhooks, stop the process, and return the objects that remain to be deleted."""
    applied = objects.noted(_home(lab_state, name))
    task.update(f"webhooks of {name}")
    objects.delete(kube, [item for item in applied if objects.is_hook(item)])
    lab_state.end(name)
    inside = controller(name).namespace
    # Objects in its namespace are deleted with it.
    return [item for item in applied if not objects.is_hook(item) and not objects.is_inside(item, inside)]


def _home(lab_state: LabState, name: str) -> Path:
    return components.site(lab_state.layout, _recorded(lab_state, name)).home


def _recorded(lab_state: LabState, name: str) -> ControllerRecord:
    wanted = lab_state.record.controller(name)
    if wanted is None:
        message = f"no {name} is recorded"
        raise ValueError(message)
    return wanted


def _start(lab_state: LabState, wanted: ControllerRecord, task: Task) -> None:
    layout, found, site = lab_state.layout, controller(wanted.name), components.site(lab_state.layout, wanted)
    config = found.config(site)
    with Kube.from_kubeconfig(layout.kubeconfig("admin")) as kube:
        provide(lab_state, wanted, kube, task)
        if config is not None:
            pki.write_private(site.config, json.dumps(config, indent=1).encode())
        task.update(f"waiting for {wanted.name}")
        _run(lab_state, wanted, kube)


def _run(lab_state: LabState, wanted: ControllerRecord, kube: Kube) -> None:
    found, site = controller(wanted.name), components.site(lab_state.layout, wanted)
    component = components.of_controller(lab_state.layout, wanted)
    if not lab_state.runs(component):
        found.prepare(kube)
        lab_state.launch(component)
    lab_state.wait(component)
    running = lab_state.record.process(wanted.name)
    if running is not None:

        def trouble() -> str:
            lab_state.require("etcd", "kube-apiserver")
            return found.trouble(kube, site)

        wait_until(trouble, running, READY_SECONDS)
