"""The run lock: one command at a time changes a stack of this machine."""

from collections.abc import Iterator
from contextlib import contextmanager

from mlcluster.deploy.session.stack import home_of
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.engine.run_lock import run_in_progress, run_lock
from mlcluster.report.screen import Screen


@contextmanager
def exclusive(workspace: Workspace, command: str, screen: Screen) -> Iterator[None]:
    """Hold the run lock of the stack during a command that changes something.

    Raises:
        RunInProgressError: another run on this machine holds it.
    """
    with run_lock(home_of(workspace), command) as protected:
        if not protected:
            screen.say(
                "The file system of the state directory has no locks; only the lock of the engine protects runs."
            )
        yield


def tell_run_in_progress(workspace: Workspace, screen: Screen) -> None:
    """Name the command that changes the stack at this moment, for a command that only reads."""
    holder = run_in_progress(home_of(workspace))
    if holder is not None:
        screen.say(f"Another run is in progress: {holder}. The output below may change while it runs.")
