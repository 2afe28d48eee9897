"""The screen of commands that change something: text for people, one JSON object per line for programs."""

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from mlcluster.engine.events import Changes, Diagnostic, Event, ResourceFailed, ResourceFinished, ResourceStarted
from mlcluster.engine.operation import OperationInterruptedError
from mlcluster.progress import Progress, Task
from mlcluster.report.changes import change_document, changes_text
from mlcluster.report.progress import JsonlProgress, for_terminal
from mlcluster.report.standard_output import print_result

QUIET_OPS = frozenset({"same", "refresh", "read"})
SILENCE_SECONDS = 20.0
PAST = {"create": "created", "update": "updated", "replace": "replaced", "delete": "deleted"}


class Patience:
    """Prints the resources that an operation waits for if the engine has reported nothing for a while."""

    def __init__(self, task: Task, *, silence: float = SILENCE_SECONDS) -> None:
        self._task = task
        self._silence = silence
        self._running: dict[str, float] = {}
        self._last = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="patience", daemon=True)

    def take(self, event: Event) -> None:
        """Notes which resources are being worked on."""
        self._last = time.monotonic()
        match event:
            case ResourceStarted(id=identifier, op=op) if op not in QUIET_OPS:
                self._running[identifier] = self._last
            case ResourceFinished(id=identifier) | ResourceFailed(id=identifier):
                self._running.pop(identifier, None)
            case _:
                pass

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(self._silence):
            now = time.monotonic()
            if now - self._last >= self._silence:
                self._task.update(self._told(now))

    def _told(self, now: float) -> str:
        running = sorted(self._running.items(), key=lambda entry: entry[1])
        if not running:
            return f"waiting for the engine for {now - self._last:.0f} s"
        names = ", ".join(identifier for identifier, _ in running[:3])
        more = f" and {len(running) - 3} more" if len(running) > 3 else ""
        return f"waiting for {names}{more} for {now - running[0][1]:.0f} s"


class Screen:
    """The user's screen, or the standard output that a program reads.

    Args:
        output: "text" or "jsonl".
        color: whether results may be coloured.
    """

    def __init__(self, output: str, *, color: bool) -> None:
        self.machine = output == "jsonl"
        self._color = color
        self._events = JsonlProgress(sys.stdout)
        self.progress: Progress = self._events if self.machine else for_terminal()
        self._finished = 0
        self._plain = not self.machine and not sys.stderr.isatty()

    def say(self, text: str) -> None:
        """Print a fact on standard error."""
        self.progress.say(text)

    def changes(self, title: str, changes: Changes) -> None:
        """Show the result of a preview."""
        if self.machine:
            listed = [change_document(change) for change in changes.effective]
            self._events.emit("Preview", title=title, counts=changes.counts, changes=listed)
        else:
            print_result(changes_text(title, changes, color=self._color))

    def result(self, kind: str, text: str, fields: Mapping[str, Any]) -> None:
        """Print the final line on standard output."""
        if self.machine:
            self._events.emit(kind, **fields)
        elif text:
            print_result(text)

    @contextmanager
    def operation(self, title: str, total: int = 0) -> Iterator[Callable[[Event], None]]:
        """Shows an engine operation while it runs; yields the receiver of its events.

        Raises:
            OperationInterruptedError: it was interrupted; the changes of earlier operations are counted with its own.
        """
        done = changed = 0
        with self.progress.task(title) as task, Patience(task) as patience:

            def take(event: Event) -> None:
                nonlocal done, changed
                if self.machine:
                    self._emit(event)
                patience.take(event)
                match event:
                    case ResourceStarted(id=identifier, op=op) if op not in QUIET_OPS:
                        task.update(identifier, done=done, total=total or None)
                    case ResourceFinished(id=identifier, op=op, seconds=seconds) if op not in QUIET_OPS:
                        done += 1
                        changed += op != "delete-replaced"  # a replacement is one change
                        if self._plain:
                            self.say(f"  {PAST.get(op, op)} {identifier} ({seconds:.1f} s)")
                        task.update(identifier, done=done, total=total or None)
                    case ResourceFailed(id=identifier, message=message) if not self.machine:
                        self.say(f"  failed {identifier}: {message}")
                    case Diagnostic(severity="warning", text=text) if not self.machine:
                        self.say(f"  warning: {text}")
                    case _:
                        pass

            try:
                yield take
            except OperationInterruptedError as error:
                raise error.after(self._finished) from error
            self._finished += changed

    def _emit(self, event: Event) -> None:
        from dataclasses import asdict

        if isinstance(event, ResourceStarted | ResourceFinished) and event.op in QUIET_OPS:
            return
        self._events.emit(type(event).__name__, **asdict(event))
