"""Signal handlers that stop the engine cleanly on Ctrl-C, SIGTERM and SIGHUP.

Without them, Python exits during a call, the engine dies with its pipes, and its lock and pending operations remain.
With them, the engine ends the running operations, writes its state and removes its lock.
"""

import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, Protocol, Self

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
FIRST = "Stopping after the running operations. Interrupt again to stop at once."
SECOND = "Stopping at once. Interrupt again to kill the engine."
THIRD = "Killing the engine."


class Stoppable(Protocol):
    """The engine process."""

    def interrupt(self) -> None: ...
    def kill(self) -> None: ...


class Interruption:
    """Signal handlers that are installed within the context; the previous ones are restored afterwards.

    Python can install handlers only in the main thread; in other threads, this has no effect.

    Attributes:
        count: the number of received signals.
    """

    def __init__(self, engine: Stoppable, say: Callable[[str], object]) -> None:
        self.count = 0
        self._engine = engine
        self._say = say
        self._before: dict[int, Any] = {}

    @property
    def happened(self) -> bool:
        """Whether a signal was received."""
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
            self._engine.interrupt()  # at the second interrupt, the engine abandons the running operations
        with suppress(Exception):  # a broken terminal must not end the engine during an operation
            self._say({1: FIRST, 2: SECOND}.get(self.count, THIRD))
