"""Restart of lab processes that end while a command uses the cluster."""

import threading
from collections import Counter
from contextlib import suppress
from types import TracebackType
from typing import Self

import psutil

from mlcluster.errors import MlclusterError
from mlcluster.lab.lab import Lab
from mlcluster.progress import Progress

_CHECK_SECONDS = 0.25
_MOST_STARTS = 3
"""The maximum number of starts of a component during one command, because it could end after every start."""


class Keeper:
    """Restarts the processes of a lab within the context.

    A component that ends is restarted, so that the API server responds and controllers remove their finalizers. While
    this command itself holds the lab's lock, no process is restarted; a wait that needs the component then ends with an
    error. A component is restarted up to three times, with a pause that doubles.

    Args:
        lab: the lab, which need not run yet.
        progress: receives messages about ended and restarted components.
        pause: seconds between two checks.
    """

    def __init__(self, lab: Lab, progress: Progress, pause: float = _CHECK_SECONDS) -> None:
        self._lab = lab
        self._progress = progress
        self._pause = pause
        self._gave_up = ""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name=f"keeper of lab {lab.name}", daemon=True)
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
        """Return the names of the components that ended within the context, including restarted ones."""
        with suppress(OSError, psutil.Error):  # `account` reports a record that cannot be read
            return sorted(self._ended.union(self._lab.alive_and_ended()[1]))
        return sorted(self._ended)

    def account(self) -> str:
        """Return a text about ended components and failed restarts, for an error; "" if none ended."""
        ended = ", ".join(self.ended())
        told = [f"{ended} of lab {self._lab.name} ended unexpectedly"] if ended else []
        return "; ".join([*told, self._gave_up] if self._gave_up else told)

    def _watch(self) -> None:
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
            if self._seen.isdisjoint(dead):  # this command itself starts components that had ended before
                continue
            if spent := [name for name in dead if starts[name] >= _MOST_STARTS]:
                logs = f"see {self._lab.layout.logs}"
                self._give_up(f"{_MOST_STARTS} new starts of {' and '.join(spent)} ended unexpectedly; {logs}")
                return
            started = self._repaired(dead)
            starts.update(started)
            pause *= 2 ** max((starts[name] for name in started), default=0)

    def _repaired(self, dead: list[str]) -> list[str]:
        """Restart components, and return their names; none while this command itself holds the lock."""
        try:
            started = self._lab.repair(self._progress)
        except (MlclusterError, OSError, psutil.Error):  # the record of a stopped lab does not list them
            self._ended.update(self._seen.intersection(dead))
            raise
        self._ended.update(started)
        return started

    def _give_up(self, reason: str) -> None:
        self._gave_up = reason
        self._progress.say(reason)
