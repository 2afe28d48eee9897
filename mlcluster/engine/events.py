"""Reduction of the engine's event stream to a few events. Pure.

The engine sends 6 to 8 events for each resource: debug diagnostics, status lines and steps. The reduced stream has one
start and one end for each resource and operation, failures with their reason, and a summary.
"""

import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mlcluster.engine.identity import Identity, identity_of

REPLACEMENT_STEPS = frozenset({"replace", "create-replacement", "delete-replaced"})
_MARKUP = re.compile(r"<\{%.*?%\}>")
_STACK = "::pulumi:pulumi:Stack::"
_PROGRAM_ERROR = "python inline source runtime error"


@dataclass(frozen=True, slots=True)
class ResourceStarted:
    """The start of an operation on a resource of the plan."""

    id: str
    type: str
    op: str


@dataclass(frozen=True, slots=True)
class ResourceFinished:
    """The successful end of an operation after `seconds`."""

    id: str
    type: str
    op: str
    seconds: float


@dataclass(frozen=True, slots=True)
class ResourceFailed:
    """The failure of an operation; `message` comes from the server or the provider."""

    id: str
    message: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A message of the engine or a provider; `id` is "" if it concerns no single resource."""

    severity: str
    text: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """The end of an operation: the number of resources by operation, and its seconds."""

    counts: Mapping[str, int]
    seconds: float


Event = ResourceStarted | ResourceFinished | ResourceFailed | Diagnostic | Summary
OnEvent = Callable[[Event], object]


@dataclass(frozen=True, slots=True)
class Change:
    """The change that an operation makes, or would make, to one resource.

    Attributes:
        id: the plan id.
        type: the provider's type token.
        op: create, update, replace, delete, same, read or refresh.
        paths: the property paths that differ.
        replaces_because: the paths that force a replacement.
        identity: kind, name and namespace of the resource, from its type and inputs.
        retained: whether a deletion removes it only from the state and keeps the object.
    """

    id: str
    type: str
    op: str
    paths: tuple[str, ...] = ()
    replaces_because: tuple[str, ...] = ()
    retained: bool = False
    identity: Identity = field(default_factory=Identity)


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of an operation to the resources of the plan, sorted by id, without the stack and its providers."""

    items: tuple[Change, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """The number of resources by operation, including `same`."""
        found: dict[str, int] = {}
        for change in self.items:
            found[change.op] = found.get(change.op, 0) + 1
        return found

    @property
    def effective(self) -> tuple[Change, ...]:
        """The changes other than `same`, `refresh` and `read`."""
        return tuple(change for change in self.items if change.op not in {"same", "refresh", "read"})

    def __bool__(self) -> bool:
        """Return whether there is an effective change."""
        return bool(self.effective)


def plan_id(urn: str) -> str:
    """Return the plan id in a URN, which is the resource's Pulumi name and can contain slashes and colons."""
    return urn.split("::", 3)[-1]


def is_internal(type_: str) -> bool:
    """Return whether a type is internal to the engine: the stack or a provider."""
    return type_.startswith("pulumi:")


def _op(metadata: Any) -> str:
    return str(getattr(metadata.op, "value", metadata.op))


@dataclass
class Fold:
    """Reduces the SDK's engine events, which arrive in order from any thread.

    Attributes:
        on_event: receives the reduced events. Its first exception is stored in `error`, and ends the calls.
        failures: id and message of every failed resource, in order.
        errors: the error messages that concern no resource of the plan, in order: a provider that cannot start or log
            in, a component that rejects its inputs.
        program_error: the traceback of a program that raised an exception, else "".
    """

    on_event: OnEvent | None = None
    clock: Callable[[], float] = time.monotonic
    failures: list[tuple[str, str]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    program_error: str = ""
    error: BaseException | None = None
    ended: threading.Event = field(default_factory=threading.Event)
    seen: int = 0
    _began: float | None = None
    _started: dict[tuple[str, str], float] = field(default_factory=dict)
    _refreshing: set[str] = field(default_factory=set)
    _applied: dict[str, Change] = field(default_factory=dict)
    _drifted: dict[str, Change] = field(default_factory=dict)
    _replaced: set[str] = field(default_factory=set)
    _half_replaced: set[str] = field(default_factory=set)

    def take(self, event: Any) -> None:
        """Process one `pulumi.automation.EngineEvent`."""
        self.seen += 1
        self._began = self.clock() if self._began is None else self._began
        if event.diagnostic_event:
            self._diagnostic(event.diagnostic_event)
        elif event.resource_pre_event:
            self._pre(event.resource_pre_event.metadata)
        elif event.res_outputs_event:
            self._outputs(event.res_outputs_event.metadata)
        elif event.res_op_failed_event:
            self._failed(event.res_op_failed_event.metadata)
        elif event.summary_event:
            counts = (self.changes() if self._applied else self.drift()).counts
            self._tell(Summary(counts, self.clock() - self._began))
        elif event.cancel_event:
            self.ended.set()

    def changes(self) -> Changes:
        """Return the changes of the operation, without those of a preceding refresh."""
        return Changes(tuple(sorted(self._applied.values(), key=lambda change: change.id)))

    @property
    def finished(self) -> int:
        """The number of completed changes; a replacement is complete once the new resource exists."""
        return len([change for change in self.changes().effective if change.id not in self._half_replaced])

    def drift(self) -> Changes:
        """Return the differences on the server that a refresh found."""
        return Changes(tuple(sorted(self._drifted.values(), key=lambda change: change.id)))

    def unfinished(self) -> list[str]:
        """Return the ids of resources whose operation started but did not end."""
        return sorted({plan_id(urn) for urn, _ in self._started})

    def _pre(self, metadata: Any) -> None:
        op = _op(metadata)
        if op == "refresh":
            self._refreshing.add(metadata.urn)
        if is_internal(metadata.type) or op == "replace" or (metadata.urn, op) in self._started:
            return
        self._started[metadata.urn, op] = self.clock()
        self._tell(ResourceStarted(plan_id(metadata.urn), metadata.type, op))

    def _outputs(self, metadata: Any) -> None:
        op, urn = _op(metadata), metadata.urn
        refreshed = urn in self._refreshing
        self._refreshing.discard(urn)
        if is_internal(metadata.type):
            return
        if refreshed:
            self._drifted[urn] = _drifted(metadata, op)
        else:
            self._applied[urn] = _merged(self._applied.get(urn), metadata, op)
            self._note_replacement(plan_id(urn), op)
        if op == "replace":
            return
        shown = "refresh" if refreshed else op
        began = self._started.pop((urn, shown), None)
        seconds = 0.0 if began is None else self.clock() - began
        self._tell(ResourceFinished(plan_id(urn), metadata.type, shown, seconds))

    def _note_replacement(self, identifier: str, op: str) -> None:
        if op == "create-replacement":
            self._replaced.add(identifier)
        if op in REPLACEMENT_STEPS and identifier not in self._replaced:
            self._half_replaced.add(identifier)
        else:
            self._half_replaced.discard(identifier)

    def _failed(self, metadata: Any) -> None:
        identifier = plan_id(metadata.urn)
        self._started.pop((metadata.urn, _op(metadata)), None)
        if not is_internal(metadata.type) and all(known != identifier for known, _ in self.failures):
            self._fail(identifier, "")

    def _diagnostic(self, event: Any) -> None:
        text = _MARKUP.sub("", event.message or "").strip()
        if event.severity == "debug" or event.ephemeral or not text:
            return
        if _PROGRAM_ERROR in text:
            self.program_error = text
            return
        urn = event.urn or ""
        ours = bool(urn) and not is_internal(urn.split("::")[2].split("$")[-1])
        if event.severity == "error" and ours:
            self._fail(plan_id(urn), text.removeprefix("error: "))
        elif not (event.severity == "error" and urn and not ours):
            # "update failed" of the stack itself repeats the errors of its resources
            self._tell(Diagnostic(event.severity, text, plan_id(urn) if ours else ""))
        if event.severity == "error" and not ours and _STACK not in urn:
            self.errors.append(text.removeprefix("error: "))

    def _fail(self, identifier: str, message: str) -> None:
        if (identifier, message) not in self.failures:
            self.failures.append((identifier, message))
            self._tell(ResourceFailed(identifier, message))

    def _tell(self, event: Event) -> None:
        if self.on_event is None or self.error is not None:
            return
        try:
            self.on_event(event)
        except BaseException as error:  # noqa: BLE001 - the SDK would turn it into a warning; the engine call raises it
            self.error = error


def _merged(known: Change | None, metadata: Any, op: str) -> Change:
    """Return one change for the resource, which combines the three steps of a replacement."""
    paths = set(known.paths if known else ()) | set(metadata.detailed_diff or metadata.diffs or ())
    keys = set(known.replaces_because if known else ()) | set(metadata.keys or ())
    if op in REPLACEMENT_STEPS or (known is not None and known.op == "replace"):
        op = "replace"
    else:
        keys = set()
    retained = op == "delete" and bool(getattr(metadata.old, "retain_on_delete", False))
    return Change(
        id=plan_id(metadata.urn),
        type=metadata.type,
        op=op,
        paths=tuple(sorted(paths)),
        replaces_because=tuple(sorted(keys)),
        retained=retained,
        identity=_identity(metadata),
    )


def _drifted(metadata: Any, op: str) -> Change:
    """Return the change that a refresh found.

    In the refresh before `up`, every step is named `refresh`, so the states decide whether the object is missing.
    """
    paths = tuple(sorted(metadata.detailed_diff or metadata.diffs or ()))
    if op == "refresh":
        op = "delete" if metadata.new is None else "update" if paths else "same"
    return Change(plan_id(metadata.urn), metadata.type, op, paths, identity=_identity(metadata))


def _identity(metadata: Any) -> Identity:
    """Return the identity of a step's resource, from its inputs after the step, or before a deletion."""
    state = metadata.new or metadata.old
    return identity_of(metadata.type, plan_id(metadata.urn), getattr(state, "inputs", None) or {})
