"""Progress on standard error: a live display on a terminal, plain lines elsewhere, events for programs."""

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from mlcluster.progress import Progress, Task
from mlcluster.report.standard_output import writing


def for_terminal(stream: TextIO | None = None) -> Progress:
    """Return the progress for a stream (default: standard error): lines, or an updated screen on a terminal."""
    stream = stream or sys.stderr
    if stream.isatty() and os.environ.get("TERM") != "dumb":
        return LiveProgress(stream)
    return PlainProgress(stream)


class _PlainTask:
    """Prints a line again only if its text has changed, and at most every few seconds."""

    QUIET_SECONDS = 5.0

    def __init__(self, title: str, stream: TextIO) -> None:
        self._title = title
        self._stream = stream
        self._last = time.monotonic()
        self._note = ""

    def update(self, note: str, *, done: int | None = None, total: int | None = None) -> None:
        now = time.monotonic()
        if note == self._note or now - self._last < self.QUIET_SECONDS:
            return
        self._note, self._last = note, now
        count = f" ({done} of {total})" if done is not None and total is not None else ""
        print(f"  {self._title}: {note}{count}", file=self._stream, flush=True)


class PlainProgress:
    """One line when something starts, one when it has ended."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def say(self, text: str) -> None:
        print(text, file=self._stream, flush=True)

    @contextmanager
    def task(self, title: str) -> Iterator[Task]:
        started = time.monotonic()
        print(f"{title} ...", file=self._stream, flush=True)
        yield _PlainTask(title, self._stream)
        print(f"{title}: done in {time.monotonic() - started:.1f} s", file=self._stream, flush=True)


class JsonlProgress:
    """One JSON object a line, for `-o jsonl`."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def emit(self, kind: str, **fields: object) -> None:
        """Writes one event of `kind`."""
        entry = {"apiVersion": "mlcluster/v1alpha1", "kind": kind, **fields}
        with writing():
            print(json.dumps(entry), file=self._stream, flush=True)

    def say(self, text: str) -> None:
        self.emit("Message", text=text)

    @contextmanager
    def task(self, title: str) -> Iterator[Task]:
        self.emit("TaskStarted", title=title)
        started = time.monotonic()
        yield _JsonlTask(self, title)
        self.emit("TaskFinished", title=title, seconds=round(time.monotonic() - started, 3))


class _JsonlTask:
    def __init__(self, progress: JsonlProgress, title: str) -> None:
        self._progress = progress
        self._title = title

    def update(self, note: str, *, done: int | None = None, total: int | None = None) -> None:
        count = {"done": done, "total": total} if done is not None else {}
        self._progress.emit("TaskProgress", title=self._title, note=note, **count)


class LiveProgress:
    """A spinner with the running task, and a line that stays when it has ended."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console

        self._console = Console(file=stream, highlight=False)

    def say(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)

    @contextmanager
    def task(self, title: str) -> Iterator[Task]:
        from rich.markup import escape

        started = time.monotonic()
        with self._console.status(escape(title)) as status:

            class Live:
                def update(self, note: str, *, done: int | None = None, total: int | None = None) -> None:
                    count = f" {done}/{total}" if done is not None and total is not None else ""
                    status.update(escape(f"{title}{count}: {note}"))

            yield Live()
        self._console.print(f"[green]✓[/] {escape(title)} [dim]{time.monotonic() - started:.1f} s[/]")
