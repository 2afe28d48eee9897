"""Run a Pulumi program, and clean up after the SDK when the engine ended before it.

When a resource fails, the engine goes away while the SDK waits for answers. The SDK then drops its event loop with the
tasks on it, and Python complains about both on stderr whenever it collects them. This closes the loop properly.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from mlcluster.errors import MlclusterError
from mlcluster.waiting import wait_while

logging.getLogger("grpc").addHandler(logging.NullHandler())
"""The SDK's server logs a traceback when the engine is gone before the program. Without a handler that is for stderr;
handlers that somebody set up, a log file for one, still get it."""

END_SECONDS = 5.0
"""How long the SDK's thread may still use the loop after the engine has ended."""


class TidyProgram:
    """A program for the SDK, and `tidy` for when the operation is over.

    A program that waits for something may have `stop()`, which ends that at once, and `failure`, an MlclusterError that
    says it better than what the SDK makes of it.
    """

    def __init__(self, program: Callable[[], object]) -> None:
        self._program = program
        self._loops: list[asyncio.AbstractEventLoop] = []

    def __call__(self) -> None:
        self._loops.append(asyncio.get_running_loop())
        self._program()

    @property
    def failure(self) -> MlclusterError | None:
        """What the program itself says of its failure."""
        found: MlclusterError | None = getattr(self._program, "failure", None)
        return found

    def stop(self) -> None:
        """Ends what the program waits for."""
        stop = getattr(self._program, "stop", None)
        if stop is not None:
            stop()

    def tidy(self) -> None:
        """Ends what is left on the loops of finished runs; does nothing after a run that ended well."""
        self.stop()
        while self._loops:
            _close(self._loops.pop())


def _close(loop: asyncio.AbstractEventLoop) -> None:
    wait_while(loop.is_running, END_SECONDS, pause=0.01)
    if loop.is_running() or loop.is_closed():
        return
    if left := asyncio.all_tasks(loop):  # gather() of nothing would look for a loop of this thread
        for task in left:
            task.cancel()
        with suppress(RuntimeError):  # the loop was stopped once more
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    loop.close()
