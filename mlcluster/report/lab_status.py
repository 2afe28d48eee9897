"""The status of a lab, as text and as a JSON document."""

from dataclasses import asdict
from typing import Any

from pydantic.alias_generators import to_camel

from mlcluster.lab.status import LabStatus

API_VERSION = "mlcluster/v1alpha1"


def status_document(status: LabStatus) -> dict[str, Any]:
    """Return the status of a lab as a JSON document; memory is in MiB."""
    processes = [_camel(asdict(process)) for process in status.processes]
    whole = {"apiVersion": API_VERSION, "kind": "LabStatus", **_camel(asdict(status)), "processes": processes}
    return {**whole, "memoryMib": status.memory_mib}


def status_text(status: LabStatus) -> str:
    """Return the status of a lab as text, with a table of its processes."""
    head = [f"lab {status.name}: {status.state}" + (f" ({status.note})" if status.note else "")]
    if status.server:
        head += [f"server      {status.server}", f"kubeconfig  {status.kubeconfig}", f"started by  {status.started_by}"]
    if status.state != "absent":
        head.append(f"directory   {status.directory}")
    rows = [
        f"  {process.name:<24} {_state_of(alive=process.alive, ready=process.ready):<10} {process.pid or '-':>8}"
        f" {process.port or '-':>6} {process.memory_mib:>6} MiB"
        for process in (status.processes if status.state != "stopped" else ())
    ]
    heading = [f"  {'component':<24} {'state':<10} {'process':>8} {'port':>6} {'memory':>10}"] if rows else []
    return "\n".join([*head, *heading, *rows])


def _state_of(*, alive: bool, ready: bool) -> str:
    if ready:
        return "ready"
    return "not ready" if alive else "dead"


def _camel(fields: dict[str, Any]) -> dict[str, Any]:
    plain = (str, int, bool, list, tuple, type(None))
    return {to_camel(name): value if isinstance(value, plain) else str(value) for name, value in fields.items()}
