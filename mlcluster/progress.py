"""Progress reporting for long-running operations. Pure: `report.progress` writes to a terminal or a log."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Task(Protocol):
    """One piece of work that is shown while it runs."""

    def update(self, note: str, *, done: int | None = None, total: int | None = None) -> None:
        """Report the current step, e.g. ("kube-apiserver", done=2, total=9)."""


class Progress(Protocol):
    """Where progress goes: a live display, plain lines, events, or nowhere."""

    def say(self, text: str) -> None:
        """Print a line that stays readable afterwards."""

    def task(self, title: str) -> AbstractContextManager[Task]:
        """Show `title` as running until the context ends; then print its duration in seconds."""


class SilentTask:
    """A task that is not shown."""

    def update(self, note: str, *, done: int | None = None, total: int | None = None) -> None:
        del note, done, total


class Silent:
    """Progress for tests and for callers that show their own."""

    def say(self, text: str) -> None:
        del text

    @contextmanager
    def task(self, title: str) -> Iterator[Task]:
        del title
        yield SilentTask()
