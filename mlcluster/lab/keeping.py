"""Starts components of a lab again that end while a command works on its cluster."""

import threading
from types import TracebackType
from typing import Self

from mlcluster.errors import MlclusterError
from mlcluster.lab.lab import Lab
from mlcluster.progress import Progress

_LOOK_SECONDS = 0.25


class Keeper:
    """Looks after the processes of a lab for as long as the context lasts.

    A component that ends is started again, so that the API server answers and controllers take their finalizers off.
    While this command itself holds the lab's lock, nothing is started: the wait that the component is needed for ends
    with an error.

    Args:
        lab: whose processes; it may not run yet.
        progress: told what ended and what became of it.
    """

    def __init__(self, lab: Lab, progress: Progress) -> None:
        self._lab = lab
        self._progress = progress
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
        return sorted(self._ended.union(self._lab.alive_and_ended()[1]))

    def _look_after(self) -> None:
        while not self._over.wait(_LOOK_SECONDS):
            alive, dead = self._lab.alive_and_ended()
            self._seen.update(alive)
            if self._seen.isdisjoint(dead):  # what was dead before is started by this command itself
                continue
            try:
                self._ended.update(self._lab.repair(self._progress))
            except MlclusterError as error:
                hint = f" ({error.hint})" if error.hint else ""
                self._progress.say(f"lab {self._lab.name} could not be repaired: {error}{hint}")
                return
