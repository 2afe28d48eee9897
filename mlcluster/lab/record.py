"""The record of a lab, with which later commands find, check and stop its processes."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from mlcluster.directories import explained
from mlcluster.lab.layout import Layout
from mlcluster.lab.pki import write_private
from mlcluster.lab.ports import Ports
from mlcluster.lab.process import Process

Phase = Literal["starting", "running", "stopped"]


@dataclass(frozen=True)
class ControllerRecord:
    """A controller of a component at its last start.

    Attributes:
        settings: the settings of the caller: values of its chart, for Kueue its configuration.
        ports: its ports by purpose.
        removing: whether its removal has begun; it is not restarted until all of its objects are deleted.
    """

    name: str
    program: Path
    manifests: Path
    settings: dict[str, Any]
    ports: dict[str, int]
    removing: bool = False


@dataclass(frozen=True)
class Record:
    """A lab. `born` means that it was ready once, so its data is complete and has a baseline."""

    phase: Phase
    ports: Ports
    binaries: Mapping[str, Path]
    extended_resource_toleration: bool
    started_by: str
    born: bool = False
    processes: tuple[Process, ...] = ()
    controllers: tuple[ControllerRecord, ...] = ()
    """The controllers in start order, including those whose removal has begun."""

    @property
    def active(self) -> tuple[ControllerRecord, ...]:
        """The controllers that the lab should run."""
        return tuple(known for known in self.controllers if not known.removing)

    @property
    def removing(self) -> tuple[str, ...]:
        """Names of the controllers whose removal has begun and has not ended."""
        return tuple(known.name for known in self.controllers if known.removing)

    def process(self, name: str) -> Process | None:
        """Return the last process of component `name`, also if it has ended."""
        return next((process for process in self.processes if process.name == name), None)

    def controller(self, name: str) -> ControllerRecord | None:
        """Return the controller of component `name`, None if the lab should not run it."""
        return next((known for known in self.controllers if known.name == name), None)

    def with_controller(self, wanted: ControllerRecord) -> "Record":
        """Return the record with `wanted` in place of an older controller of its name, else last."""
        if self.controller(wanted.name) is None:
            return replace(self, controllers=(*self.controllers, wanted))
        return replace(
            self, controllers=tuple(wanted if known.name == wanted.name else known for known in self.controllers)
        )

    def without_controller(self, name: str) -> "Record":
        """Return the record without the controller of component `name`."""
        return replace(self, controllers=tuple(known for known in self.controllers if known.name != name))

    def with_process(self, process: Process) -> "Record":
        """Return the record with `process` in place of an older one of its name."""
        others = (other for other in self.processes if other.name != process.name)
        return replace(self, processes=(*others, process))

    def without_process(self, name: str) -> "Record":
        """Return the record without the process of component `name`."""
        return replace(self, processes=tuple(process for process in self.processes if process.name != name))


def save(layout: Layout, record: Record) -> None:
    """Write the record atomically."""
    write_private(layout.record, json.dumps(asdict(record), default=str, indent=1).encode())


def load(layout: Layout) -> Record | None:
    """Return the record of the lab, None if there is none.

    Raises:
        ValueError: the record has another version or is damaged.
        MlclusterError: it cannot be read.
    """
    try:
        text = layout.record.read_text()
    except FileNotFoundError:
        return None
    except OSError:
        with explained("reading the record of a lab", layout.record):
            raise
    found = json.loads(text)
    try:
        return _record(found)
    except (KeyError, TypeError, AttributeError) as error:
        message = f"{layout.record} is not a record of this version"
        raise ValueError(message) from error


def _record(found: dict[str, Any]) -> Record:
    return Record(
        phase=found["phase"],
        ports=Ports(
            **{known.name: found["ports"][known.name] for known in fields(Ports)}
        ),  # earlier versions had one for kwok
        binaries={name: Path(path) for name, path in found["binaries"].items()},
        extended_resource_toleration=found["extended_resource_toleration"],
        started_by=found["started_by"],
        born=found["born"],
        processes=tuple(_process(process) for process in found["processes"]),
        controllers=tuple(_controller(known) for known in found["controllers"]),
    )


def _process(found: dict[str, Any]) -> Process:
    return Process(found["name"], found["pid"], found["created"], tuple(found["argv"]), Path(found["log"]))


def _controller(found: dict[str, Any]) -> ControllerRecord:
    program, manifests = Path(found["program"]), Path(found["manifests"])
    removing = bool(found.get("removing"))  # missing in records of earlier versions
    return ControllerRecord(found["name"], program, manifests, found["settings"], found["ports"], removing)
