"""Pulumi programs, with cleanup after an engine that ended before the program.

If a resource fails, the engine ends while the SDK waits for responses. The SDK then drops its event loop and the tasks
on it, and Python prints warnings about both on stderr when it collects them. This module closes the loop.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from mlcluster.errors import MlclusterError
from mlcluster.waiting import wait_while

logging.getLogger("grpc").addHandler(logging.NullHandler())
"""The SDK's server logs a traceback if the engine ends before the program. This handler keeps it off stderr; configured
handlers, such as a log file, still receive it."""

END_SECONDS = 5.0
"""How long the SDK's thread may still use the loop after the engine has ended."""


class TidyProgram:
    """A program for the SDK, with `tidy` to call after the operation.

    A program that waits for resources can have `stop()`, which ends the wait, and `failure`, an MlclusterError that is
    more precise than the error of the SDK.
    """

    def __init__(self, program: Callable[[], object]) -> None:
        self._program = program
        self._loops: list[asyncio.AbstractEventLoop] = []

    def __call__(self) -> None:
        self._loops.append(asyncio.get_running_loop())
        self._program()

    @property
    def failure(self) -> MlclusterError | None:
        """The error that the program recorded."""
        found: MlclusterError | None = getattr(self._program, "failure", None)
        return found

    def stop(self) -> None:
        """End the wait of the program."""
        stop = getattr(self._program, "stop", None)
        if stop is not None:
            stop()

    def tidy(self) -> None:
        """Cancel the remaining tasks of finished runs, and close their loops; a successful run leaves none."""
        self.stop()
        while self._loops:
            _close(self._loops.pop())


def _close(loop: asyncio.AbstractEventLoop) -> None:
    wait_while(loop.is_running, END_SECONDS, pause=0.01)
    if loop.is_running() or loop.is_closed():
        return
    if left := asyncio.all_tasks(loop):  # gather() without tasks would look for a loop of this thread
        for task in left:
            task.cancel()
        with suppress(RuntimeError):  # the loop was stopped once more
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    loop.close()
