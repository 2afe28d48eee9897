"""Errors of a lab, each with a hint."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from mlcluster.errors import InterruptedByUserError, MlclusterError


class StartFailed(MlclusterError):  # noqa: N818 - reads as what happened
    """A component ended during its start.

    Attributes:
        component: its name, such as "etcd".
        code: its exit code, negative for a signal.
        log: the file with all of its output.
    """

    def __init__(self, component: str, code: int, last_lines: str, log: Path, hint: str = "") -> None:
        super().__init__(
            f"starting {component}",
            f"it ended with code {code}; the end of its log:\n{last_lines}",
            hint or f"Check the whole log in {log}.",
        )
        self.component = component
        self.code = code
        self.log = log


class PortTaken(StartFailed):
    """Another process listens on a chosen port; the next attempt uses other ports."""


class NotReady(MlclusterError):  # noqa: N818 - reads as what happened
    """A component runs but is not ready."""

    def __init__(self, component: str, seconds: float, last: str, log: Path) -> None:
        super().__init__(
            f"waiting for {component}",
            f"not ready after {seconds:.0f} s; last response: {last}",
            f"Check its log in {log}; on a slow machine, run `mlcluster lab start` again.",
        )
        self.component = component
        self.log = log


class EndedMeanwhile(MlclusterError):  # noqa: N818 - reads as what happened
    """A required component ended while a command was using the lab."""

    def __init__(self, component: str, log: Path) -> None:
        super().__init__(
            f"working with {component}",
            f"{component} ended unexpectedly",
            f"Run the same command again: it restarts {component} and continues. Its log is {log}.",
        )
        self.component = component
        self.log = log


class LeftoverData(MlclusterError):  # noqa: N818 - reads as what it is
    """The directory contains data of a control plane, but no record of its lab."""

    def __init__(self, name: str, root: Path) -> None:
        super().__init__(
            f"starting lab {name}",
            f"{root} contains data of a lab but no readable record of it",
            f"Run `mlcluster lab reset --name {name}` to delete it.",
        )


class LabBusy(MlclusterError):  # noqa: N818 - reads as what it is
    """Another command is using the same lab."""

    def __init__(self, name: str, holder: str) -> None:
        super().__init__(
            f"locking lab {name}", f"another command is using it ({holder})", "Wait for it to end, then try again."
        )


class NotRunning(MlclusterError):  # noqa: N818 - reads as what it is
    """The command needs a running lab."""

    def __init__(self, doing: str, name: str, state: str) -> None:
        super().__init__(doing, f"lab {name} is {state}", f"Run `mlcluster lab start --name {name}`.")


@contextlib.contextmanager
def interruptible(doing: str, happened: str, hint: str) -> Iterator[None]:
    """Convert Ctrl-C into an error with the partial result and a hint."""
    try:
        yield
    except KeyboardInterrupt:
        raise InterruptedByUserError(doing, happened, hint) from None
