"""The processes of a lab, in start order: command line, port, and readiness probe."""

import http.client
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from mlcluster.lab import flags, probe
from mlcluster.lab.controllers.controller import Site
from mlcluster.lab.controllers.registry import CONTROLLERS, controller
from mlcluster.lab.layout import Layout
from mlcluster.lab.record import ControllerRecord, Record

_FIRST_BYTES = 64 << 10

STOP_ORDER = (
    *reversed(list(CONTROLLERS)),
    "kwok",
    "kube-scheduler",
    "kube-controller-manager",
    "kube-apiserver",
    "etcd",
)

CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")
"""The processes of every lab, in start order."""


@dataclass(frozen=True)
class Component:
    """A process of the lab. `trouble` probes its readiness and returns "" or the response of the process.

    `port` is None for a process that listens on no port.
    """

    name: str
    argv: tuple[str, ...]
    port: int | None
    trouble: Callable[[], str]
    environment: Mapping[str, str] = field(default_factory=dict)


def etcd(layout: Layout, record: Record) -> Component:
    """Return the database."""
    return _component(layout, record, "etcd", flags.etcd(layout, record.ports), record.ports.etcd, "/readyz")


def apiserver(layout: Layout, record: Record) -> Component:
    """Return the API server."""
    argv = flags.apiserver(layout, record.ports, extended_resource_toleration=record.extended_resource_toleration)
    return _component(layout, record, "kube-apiserver", argv, record.ports.api, "/readyz")


def clients(layout: Layout, record: Record) -> Iterator[Component]:
    """Yield the processes that start in parallel once the API server is ready."""
    ports = record.ports
    manager = flags.controllers(layout, ports)
    yield _component(layout, record, "kube-controller-manager", manager, ports.controllers, "/healthz")
    yield _component(layout, record, "kube-scheduler", flags.scheduler(layout, ports), ports.scheduler, "/readyz")
    argv = (str(record.binaries["kwok"]), *flags.kwok(layout))
    yield Component("kwok", argv, None, partial(_kwok_trouble, layout.log("kwok")))


def site(layout: Layout, known: ControllerRecord) -> Site:
    """Return the paths and ports of a controller in this lab."""
    return Site(layout.controllers / known.name, layout.kubeconfig(known.name), known.ports, known.settings)


def of_controller(layout: Layout, known: ControllerRecord) -> Component:
    """Return the process of a controller."""
    found, place = controller(known.name), site(layout, known)
    argv = (str(known.program), *found.flags(place))
    ask = partial(probe.http_plain, known.ports["health"], found.health_path)
    port = known.ports.get("webhook", known.ports["health"])
    return Component(known.name, argv, port, trouble_of(ask), found.environment(place))


def everything(layout: Layout, record: Record) -> list[Component]:
    """Return all processes that should run."""
    bare = [etcd(layout, record), apiserver(layout, record), *clients(layout, record)]
    return [*bare, *(of_controller(layout, known) for known in record.active)]


def _component(  # noqa: PLR0913, PLR0917 - private, called above only
    layout: Layout, record: Record, name: str, argv: list[str], port: int, path: str
) -> Component:
    ask = partial(probe.etcd if name == "etcd" else probe.https, layout, port, path)
    return Component(name, (str(record.binaries[name]), *argv), port, trouble_of(ask))


def _kwok_trouble(log: Path) -> str:
    """Search the log for the line that kwok writes once it has listed the nodes; each start has its own log."""
    try:
        with log.open("rb") as file:
            beginning = file.read(_FIRST_BYTES)
    except OSError as error:
        return str(error)
    return "" if b"Watch nodes" in beginning else "it has not listed the nodes yet"


def trouble_of(ask: Callable[[], probe.Answer]) -> Callable[[], str]:
    """Return a probe that returns "" for HTTP 200, else the response or the connection error of `ask`."""

    def trouble() -> str:
        try:
            status, content = ask()
        except (OSError, http.client.HTTPException) as error:
            return str(error) or type(error).__name__
        return "" if status == 200 else f"HTTP {status} {content[:400].decode(errors='replace')}"

    return trouble
