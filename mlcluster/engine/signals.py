"""Ctrl-C, SIGTERM and SIGHUP while the engine works: handlers that stop the engine cleanly.

Without them Python leaves in the middle of a call, the engine dies with its pipes, and a lock and pending operations
stay behind. With them the engine ends the operations that run, writes its state and removes its lock.
"""

import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, Protocol, Self

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
FIRST = "Stopping after the operations that are running; once more to stop at once."
SECOND = "Stopping at once; once more to kill the engine."
THIRD = "Killing the engine."


class Stoppable(Protocol):
    """The engine process."""

    def interrupt(self) -> None: ...
    def kill(self) -> None: ...


class Interruption:
    """Handlers for as long as the context lasts; the old ones come back afterwards.

    In any thread but the main one Python cannot install handlers, and this does nothing.

    Attributes:
        count: how many signals came.
    """

    def __init__(self, engine: Stoppable, say: Callable[[str], object]) -> None:
        self.count = 0
        self._engine = engine
        self._say = say
        self._before: dict[int, Any] = {}

    @property
    def happened(self) -> bool:
        """Whether anybody asked to stop."""
        return self.count > 0

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._handle) for number in SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        self._before = {}

    def _handle(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.count += 1
        if self.count >= 3:
            self._engine.kill()
        else:
            self._engine.interrupt()  # the engine takes the second one as "give up what is running"
        with suppress(Exception):  # a broken terminal must not end the engine in the middle of its work
            self._say({1: FIRST, 2: SECOND}.get(self.count, THIRD))
