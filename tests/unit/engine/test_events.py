"""Reduction of engine events in the form in which the SDK parses them."""

from types import SimpleNamespace
from typing import Any

import pytest

from mlcluster.engine.events import (
    Change,
    Changes,
    Diagnostic,
    Event,
    Fold,
    ResourceFailed,
    ResourceFinished,
    ResourceStarted,
    Summary,
    plan_id,
)
from mlcluster.engine.identity import Identity

pytestmark = pytest.mark.unit
KINDS = ("diagnostic_event", "resource_pre_event", "res_outputs_event", "res_op_failed_event", "summary_event")
STACK = "urn:pulumi:atlas::p::pulumi:pulumi:Stack::p-atlas"


def _event(kind: str, **fields: Any) -> Any:
    event = SimpleNamespace(**dict.fromkeys((*KINDS, "cancel_event")))
    setattr(event, kind, SimpleNamespace(**fields) if kind != "cancel_event" else object())
    return event


def _urn(name: str, type_: str = "kubernetes:core/v1:Namespace") -> str:
    return f"urn:pulumi:atlas::p::{type_}::{name}"


def _step(kind: str, name: str, op: str, **fields: Any) -> Any:
    type_ = fields.pop("type", "kubernetes:core/v1:Namespace")
    known: dict[str, Any] = {"keys": None, "diffs": None, "detailed_diff": {}, "new": object(), "old": None}
    metadata = SimpleNamespace(op=op, urn=_urn(name, type_), type=type_, **{**known, **fields})
    return _event(kind, metadata=metadata)


def _diagnostic(severity: str, message: str, urn: str = "", *, ephemeral: bool = False) -> Any:
    return _event("diagnostic_event", severity=severity, message=message, urn=urn, ephemeral=ephemeral)


def _fold(*events: Any) -> tuple[Fold, list[Event]]:
    told: list[Event] = []
    ticks = iter(range(1000))
    fold = Fold(told.append, clock=lambda: float(next(ticks)))
    for event in events:
        fold.take(event)
    return fold, told


def test_a_creation_has_start_and_end_events() -> None:
    fold, told = _fold(
        _step("resource_pre_event", "Namespace/a", "create"), _step("res_outputs_event", "Namespace/a", "create")
    )
    assert told == [
        ResourceStarted("Namespace/a", "kubernetes:core/v1:Namespace", "create"),
        ResourceFinished("Namespace/a", "kubernetes:core/v1:Namespace", "create", 1.0),
    ]
    assert fold.changes() == Changes(
        (Change("Namespace/a", "kubernetes:core/v1:Namespace", "create", identity=Identity("Namespace", "a")),)
    )
    assert fold.unfinished() == []


def test_the_stack_and_its_providers_are_omitted() -> None:
    fold, told = _fold(
        *(
            _step(kind, name, "create", type=type_)
            for kind in ("resource_pre_event", "res_outputs_event")
            for name, type_ in (("p-atlas", "pulumi:pulumi:Stack"), ("kubernetes", "pulumi:providers:kubernetes"))
        )
    )
    assert told == []
    assert not fold.changes().items


@pytest.mark.parametrize(
    "steps",
    [("create-replacement", "replace", "delete-replaced"), ("delete-replaced", "replace", "create-replacement")],
)
def test_the_steps_of_a_replacement_are_one_change(steps: tuple[str, ...]) -> None:
    detail = {"spec.selector": object()}
    fold, told = _fold(
        *(
            _step(kind, "Deployment/d", op, keys=["spec.selector"] if op != "delete-replaced" else None)
            for op in steps
            for kind in ("resource_pre_event", "res_outputs_event")
        ),
        _step("res_outputs_event", "Deployment/d", "replace", detailed_diff=detail, keys=["spec.selector"]),
    )
    (change,) = fold.changes().items
    assert (change.op, change.paths, change.replaces_because) == ("replace", ("spec.selector",), ("spec.selector",))
    assert {event.op for event in told if isinstance(event, ResourceStarted)} == set(steps) - {"replace"}


@pytest.mark.parametrize(
    ("steps", "finished"),
    [(["delete-replaced"], 0), (["delete-replaced", "replace"], 0), (["create-replacement"], 1),
     (["delete-replaced", "replace", "create-replacement"], 1), (["create"], 1), (["same"], 0), (["update"], 1)],
)  # fmt: skip
def test_a_replacement_is_complete_once_the_new_resource_exists(steps: list[str], finished: int) -> None:
    fold, _ = _fold(*(_step(kind, "A", op) for op in steps for kind in ("resource_pre_event", "res_outputs_event")))
    assert fold.finished == finished


def test_a_refresh_before_an_update_is_drift_and_not_a_change() -> None:
    fold, _ = _fold(
        _step("resource_pre_event", "A", "refresh"),
        _step("res_outputs_event", "A", "refresh", new=None),
        _step("resource_pre_event", "B", "refresh"),
        _step("res_outputs_event", "B", "refresh", detailed_diff={"data": object()}),
        _step("resource_pre_event", "C", "refresh"),
        _step("res_outputs_event", "C", "refresh"),
        _step("resource_pre_event", "A", "create"),
        _step("res_outputs_event", "A", "create"),
    )
    assert [(change.id, change.op) for change in fold.drift().items] == [
        ("A", "delete"),
        ("B", "update"),
        ("C", "same"),
    ]
    assert [(change.id, change.op) for change in fold.changes().items] == [("A", "create")]


def test_a_previewed_refresh_reports_drift_from_its_outputs() -> None:
    fold, _ = _fold(
        _step("resource_pre_event", "A", "refresh"),
        _step("res_outputs_event", "A", "update", detailed_diff={"spec.hard": object()}),
    )
    assert fold.drift().items == (
        Change("A", "kubernetes:core/v1:Namespace", "update", ("spec.hard",), identity=Identity("Namespace", "A")),
    )


def test_a_failure_is_reported_once_with_the_server_message() -> None:
    fold, told = _fold(
        _step("resource_pre_event", "A", "create"),
        _diagnostic("error", "error: quota <{%fg 1%}>exceeded", _urn("A")),
        _diagnostic("error", "update failed", STACK),
        _step("res_op_failed_event", "A", "create"),
    )
    assert [event for event in told if not isinstance(event, ResourceStarted)] == [
        ResourceFailed("A", "quota exceeded")
    ]
    assert fold.failures == [("A", "quota exceeded")]
    assert fold.unfinished() == []


def test_a_failure_without_message_is_reported() -> None:
    fold, _ = _fold(_step("resource_pre_event", "A", "create"), _step("res_op_failed_event", "A", "create"))
    assert fold.failures == [("A", "")]


@pytest.mark.parametrize(
    "event",
    [
        _diagnostic("debug", "registering"),
        _diagnostic("info", "waiting", ephemeral=True),
        _diagnostic("info", "  "),
        _diagnostic("error", "preview failed", STACK),
    ],
)
def test_irrelevant_events_are_dropped(event: Any) -> None:
    _, told = _fold(event)
    assert told == []


def test_other_diagnostics_carry_their_resource() -> None:
    _, told = _fold(_diagnostic("warning", "deprecated", _urn("A")), _diagnostic("info", "hello"))
    assert told == [Diagnostic("warning", "deprecated", "A"), Diagnostic("info", "hello", "")]


def test_a_traceback_of_the_program_is_stored_separately() -> None:
    fold, told = _fold(_diagnostic("error", "python inline source runtime error: x\nTraceback\nKeyError: 'x'", STACK))
    assert fold.program_error.endswith("KeyError: 'x'")
    assert told == []


def test_the_summary_counts_resources_of_the_plan() -> None:
    fold, told = _fold(
        _step("res_outputs_event", "A", "same"),
        _step("res_outputs_event", "B", "create"),
        _step("res_outputs_event", "p-atlas", "create", type="pulumi:pulumi:Stack"),
        _event("summary_event", resource_changes={"create": 2, "same": 1}),
        _event("cancel_event"),
    )
    assert [event.counts for event in told if isinstance(event, Summary)] == [{"same": 1, "create": 1}]
    assert fold.ended.is_set()


def test_the_first_exception_of_a_listener_ends_its_calls() -> None:
    calls: list[Event] = []

    def listen(event: Event) -> None:
        calls.append(event)
        raise LookupError("terminal gone")

    fold = Fold(listen)
    for name in ("A", "B"):
        fold.take(_step("resource_pre_event", name, "create"))
    assert isinstance(fold.error, LookupError)
    assert len(calls) == 1


def test_no_change_is_false_and_sorted() -> None:
    same = Change("B", "t", "same")
    assert not Changes((same,))
    assert Changes((same, Change("A", "t", "update"))).effective == (Change("A", "t", "update"),)


def test_a_change_has_the_identity_that_the_inputs_record() -> None:
    """Of a deleted resource only the old state is left, and its program no longer names it."""
    token = "kubernetes:core/v1:Node"
    old = SimpleNamespace(inputs={"metadata": {"name": "train-0", "labels": {"mlcluster.dev/pool": "train"}}})
    fold, _ = _fold(_step("res_outputs_event", "Node/train-0", "delete", type=token, new=None, old=old))
    assert [change.identity for change in fold.changes().items] == [Identity("Node", "train-0", "", "train")]


@pytest.mark.parametrize("name", ["LocalQueue/research/default", "ClusterRole/mlcluster:view", "a::b"])
def test_a_plan_id_survives_its_urn(name: str) -> None:
    assert plan_id(_urn(name)) == name
