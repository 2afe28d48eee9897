"""The screen of verbs that change something, and progress: text for people, one JSON object a line for programs."""

import io
import json
import re
import threading
from typing import Any

import pytest

from mlcluster.engine.events import (
    Change,
    Changes,
    Diagnostic,
    Event,
    ResourceFailed,
    ResourceFinished,
    ResourceStarted,
    Summary,
)
from mlcluster.engine.operation import OperationInterruptedError
from mlcluster.report.progress import JsonlProgress, PlainProgress, for_terminal
from mlcluster.report.screen import Patience, Screen

pytestmark = pytest.mark.unit

EVENTS: list[Event] = [
    ResourceStarted("Namespace/a", "t", "create"),
    ResourceFinished("Namespace/a", "t", "create", 0.25),
    ResourceStarted("Namespace/b", "t", "same"),
    ResourceFinished("Namespace/b", "t", "same", 0.0),
    ResourceFailed("Namespace/c", "it is [taken]"),
    Diagnostic("warning", "be careful", "Namespace/a"),
    Diagnostic("info", "by the way"),
    Summary({"create": 1, "same": 1}, 1.5),
]


def lines_of(text: str) -> list[dict[str, Any]]:
    """Return every line as JSON; fails on one that is not."""
    return [json.loads(line) for line in text.splitlines()]


def run(screen: Screen) -> None:
    """An operation with every kind of event."""
    screen.say("hello")
    screen.changes("platform", Changes((Change("Namespace/a", "t", "create"),)))
    with screen.operation("applying", 2) as take:
        for event in EVENTS:
            take(event)
    screen.result("UpResult", "done", {"changed": 1})


def test_jsonl_is_one_object_a_line_and_the_result_is_the_last(capsys: pytest.CaptureFixture[str]) -> None:
    run(Screen("jsonl", color=False))
    captured = capsys.readouterr()
    events = lines_of(captured.out)
    assert captured.err == ""
    assert all(event["apiVersion"] == "mlcluster/v1alpha1" for event in events)
    assert [event["kind"] for event in events if event["kind"] != "TaskProgress"] == [
        "Message",
        "Preview",
        "TaskStarted",
        "ResourceStarted",
        "ResourceFinished",
        "ResourceFailed",
        "Diagnostic",
        "Diagnostic",
        "Summary",
        "TaskFinished",
        "UpResult",
    ]
    assert events[-1] == {"apiVersion": "mlcluster/v1alpha1", "kind": "UpResult", "changed": 1}


def test_a_quiet_operation_names_the_resource_that_it_waits_for() -> None:
    told: list[str] = []
    heard = threading.Event()

    class Hearing:
        def update(self, note: str, *, done: int | None = None, total: int | None = None) -> None:
            told.append(note)
            heard.set()

    with Patience(Hearing(), silence=0.01) as patience:
        assert heard.wait(30)
        assert told[0].startswith("waiting for the engine for ")
        patience.take(ResourceStarted("Namespace/a", "t", "delete"))
        heard.clear()
        assert heard.wait(30)
        heard.clear()
        assert heard.wait(30)
    assert told[-1].startswith("waiting for Namespace/a for ")


def test_jsonl_omits_unchanged_resources(capsys: pytest.CaptureFixture[str]) -> None:
    run(Screen("jsonl", color=False))
    assert "Namespace/b" not in capsys.readouterr().out


def test_a_preview_as_data(capsys: pytest.CaptureFixture[str]) -> None:
    changes = Changes((Change("a", "t", "delete"), Change("b", "t", "same")))
    Screen("jsonl", color=False).changes("platform", changes)
    (event,) = lines_of(capsys.readouterr().out)
    assert (event["title"], event["counts"]) == ("platform", {"delete": 1, "same": 1})
    assert [change["id"] for change in event["changes"]] == ["a"]


def test_plain_text_has_results_on_stdout_and_the_rest_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    run(Screen("text", color=False))
    captured = capsys.readouterr()
    assert captured.out == "platform: 1 to create\n  + Namespace/a\ndone\n"
    told = captured.err.splitlines()
    assert told[:2] == ["hello", "applying ..."]
    assert "  created Namespace/a (0.2 s)" in told
    assert "  failed Namespace/c: it is [taken]" in told
    assert "  warning: be careful" in told
    assert re.fullmatch(r"applying: done in \d+\.\d s", told[-1])
    assert "Namespace/b" not in captured.err
    assert "by the way" not in captured.err


def test_a_result_without_text_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    Screen("text", color=False).result("DownResult", "", {"left": []})
    assert capsys.readouterr().out == ""


def test_progress_of_a_task_as_events() -> None:
    stream = io.StringIO()
    progress = JsonlProgress(stream)
    with progress.task("building") as task:
        task.update("etcd", done=1, total=9)
        task.update("kwok")
    started, first, second, finished = lines_of(stream.getvalue())
    assert (started["kind"], started["title"]) == ("TaskStarted", "building")
    assert (first["note"], first["done"], first["total"]) == ("etcd", 1, 9)
    assert (second["note"], "done" in second) == ("kwok", False)
    assert (finished["kind"], finished["title"]) == ("TaskFinished", "building")


def test_plain_progress_repeats_itself_rarely() -> None:
    stream = io.StringIO()
    with PlainProgress(stream).task("waiting") as task:
        for _ in range(100):
            task.update("still")
    first, last = stream.getvalue().splitlines()
    assert first == "waiting ..."
    assert last.startswith("waiting: done in ")


def test_a_task_that_fails_is_not_done() -> None:
    stream = io.StringIO()
    with pytest.raises(RuntimeError), PlainProgress(stream).task("waiting"):
        raise RuntimeError
    assert stream.getvalue() == "waiting ...\n"


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_pipe_gets_plain_lines_and_so_does_a_dumb_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(for_terminal(io.StringIO()), PlainProgress)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(for_terminal(Terminal()), PlainProgress)


def test_a_terminal_shows_text_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages of servers hold brackets, which are no markup."""
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    progress = for_terminal(stream)
    progress.say("flavor [train] is missing")
    with progress.task("looking at [x]") as task:
        task.update("[/] not a tag", done=1, total=2)
    assert "flavor [train] is missing" in stream.getvalue()
    assert "looking at [x]" in stream.getvalue()


def test_an_interruption_counts_the_finished_operations_of_earlier_stacks() -> None:
    """Eight nodes were created, and Ctrl-C came in the first moment of the platform."""
    screen = Screen("jsonl", color=False)
    with screen.operation("applying simulated nodes", 8) as take:
        for index in range(8):
            take(ResourceFinished(f"Node/{index}", "t", "create", 0.1))
        take(ResourceFinished("Node/9", "t", "same", 0.1))
    with pytest.raises(OperationInterruptedError) as caught, screen.operation("applying platform", 40):
        raise OperationInterruptedError("bringing the cluster up", 1, ["not finished: Namespace/a"], "again")
    assert caught.value.happened == "interrupted after 9 finished changes; not finished: Namespace/a"
    assert caught.value.hint == "again"


def test_the_two_steps_of_a_replacement_are_one_finished_change() -> None:
    screen = Screen("jsonl", color=False)
    with screen.operation("applying", 1) as take:
        for op in ("delete-replaced", "create-replacement"):
            take(ResourceFinished("PriorityClass/a", "t", op, 0.1))
    with pytest.raises(OperationInterruptedError, match="after 1 finished change;"), screen.operation("applying"):
        raise OperationInterruptedError("bringing the cluster up", 0, ["not finished: Namespace/a"], "again")
