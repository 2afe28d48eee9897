"""One run at a time on a stack of this machine; the others are named."""

from collections.abc import Iterator
from contextlib import contextmanager

from mlcluster.engine.run_lock import run_in_progress, run_lock
from mlcluster.report.screen import Screen
from mlcluster.verbs.reading import Reading
from mlcluster.verbs.stage import home_of


@contextmanager
def exclusive(reading: Reading, verb: str, screen: Screen) -> Iterator[None]:
    """Holds the run lock of the stack for a verb that changes something.

    Raises:
        RunInProgressError: another run on this machine holds it.
    """
    with run_lock(home_of(reading), verb) as protected:
        if not protected:
            screen.say(
                "The file system of the state directory has no locks; only the lock of the engine protects runs."
            )
        yield


def tell_run_in_progress(reading: Reading, screen: Screen) -> None:
    """For a verb that only reads: names the run that changes the stack meanwhile."""
    holder = run_in_progress(home_of(reading))
    if holder is not None:
        screen.say(f"Another run is in progress: {holder}. What follows may change while it runs.")
