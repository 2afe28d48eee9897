"""One run at a time on a stack of this machine; the others are named."""

from collections.abc import Iterator
from contextlib import contextmanager

from mlcluster.deploy.session.stack import home_of
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.engine.run_lock import run_in_progress, run_lock
from mlcluster.report.screen import Screen


@contextmanager
def exclusive(workspace: Workspace, verb: str, screen: Screen) -> Iterator[None]:
    """Holds the run lock of the stack for a verb that changes something.

    Raises:
        RunInProgressError: another run on this machine holds it.
    """
    with run_lock(home_of(workspace), verb) as protected:
        if not protected:
            screen.say(
                "The file system of the state directory has no locks; only the lock of the engine protects runs."
            )
        yield


def tell_run_in_progress(workspace: Workspace, screen: Screen) -> None:
    """For a verb that only reads: names the run that changes the stack meanwhile."""
    holder = run_in_progress(home_of(workspace))
    if holder is not None:
        screen.say(f"Another run is in progress: {holder}. What follows may change while it runs.")
