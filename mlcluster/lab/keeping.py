"""Restart processes of a lab that end while a command works on its cluster."""

import threading
from collections import Counter
from contextlib import suppress
from types import TracebackType
from typing import Self

import psutil

from mlcluster.errors import MlclusterError
from mlcluster.lab.lab import Lab
from mlcluster.progress import Progress

_LOOK_SECONDS = 0.25
_MOST_STARTS = 3
"""Of one component while one command runs: one that always ends would be started for as long as the command waits."""


class Keeper:
    """Looks after the processes of a lab for as long as the context lasts.

    A component that ends is started again, so that the API server answers and controllers take their finalizers off.
    While this command itself holds the lab's lock, nothing is started: the wait that the component is needed for ends
    with an error. A component is started again three times, with a pause that doubles, and then given up.

    Args:
        lab: whose processes; it may not run yet.
        progress: told what ended and what became of it.
        pause: seconds between two looks.
    """

    def __init__(self, lab: Lab, progress: Progress, pause: float = _LOOK_SECONDS) -> None:
        self._lab = lab
        self._progress = progress
        self._pause = pause
        self._gave_up = ""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look_after, name=f"keeper of lab {lab.name}", daemon=True)
        self._seen: set[str] = set()
        self._ended: set[str] = set()

    def __enter__(self) -> Self:
        self._seen.update(self._lab.alive_and_ended()[0])
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def ended(self) -> list[str]:
        """Names of the components that ended since this began, whether they run again or not."""
        with suppress(OSError, psutil.Error):  # what cannot be read is told by `account`
            return sorted(self._ended.union(self._lab.alive_and_ended()[1]))
        return sorted(self._ended)

    def account(self) -> str:
        """What ended, and why it was given up if it was, for an error; "" when all is well."""
        ended = ", ".join(self.ended())
        told = [f"{ended} of lab {self._lab.name} ended unexpectedly"] if ended else []
        return "; ".join([*told, self._gave_up] if self._gave_up else told)

    def _look_after(self) -> None:
        try:
            self._repair_until_over()
        except MlclusterError as error:
            hint = f" ({error.hint})" if error.hint else ""
            self._give_up(f"lab {self._lab.name} could not be repaired: {error}{hint}")
        except (OSError, psutil.Error) as error:
            self._give_up(f"lab {self._lab.name} could not be repaired: {error}")

    def _repair_until_over(self) -> None:
        starts: Counter[str] = Counter()
        pause = self._pause
        while not self._over.wait(pause):
            pause = self._pause
            alive, dead = self._lab.alive_and_ended()
            self._seen.update(alive)
            if self._seen.isdisjoint(dead):  # what was dead before is started by this command itself
                continue
            if spent := [name for name in dead if starts[name] >= _MOST_STARTS]:
                logs = f"see {self._lab.layout.logs}"
                self._give_up(f"{_MOST_STARTS} new starts of {' and '.join(spent)} ended unexpectedly; {logs}")
                return
            started = self._repaired(dead)
            starts.update(started)
            pause *= 2 ** max((starts[name] for name in started), default=0)

    def _repaired(self, dead: list[str]) -> list[str]:
        """What was started again; none while this command itself works on the lab."""
        try:
            started = self._lab.repair(self._progress)
        except (MlclusterError, OSError, psutil.Error):  # the record of a lab that was stopped no longer names them
            self._ended.update(self._seen.intersection(dead))
            raise
        self._ended.update(started)
        return started

    def _give_up(self, reason: str) -> None:
        self._gave_up = reason
        self._progress.say(reason)
