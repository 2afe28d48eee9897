"""Errors of a lab, each with a hint."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from mlcluster.errors import InterruptedByUserError, MlclusterError


class StartFailed(MlclusterError):  # noqa: N818 - reads as what happened
    """A component ended while it was starting.

    Attributes:
        component: its name, such as "etcd".
        code: its exit code, negative for a signal.
        log: where all of its output is.
    """

    def __init__(self, component: str, code: int, last_lines: str, log: Path, hint: str = "") -> None:
        super().__init__(
            f"starting {component}",
            f"it ended with code {code}; the end of its log:\n{last_lines}",
            hint or f"the whole log is {log}",
        )
        self.component = component
        self.code = code
        self.log = log


class PortTaken(StartFailed):
    """Somebody else listens on a port that we chose; another start takes others."""


class NotReady(MlclusterError):  # noqa: N818 - reads as what happened
    """A component runs but does not answer as it should."""

    def __init__(self, component: str, seconds: float, last: str, log: Path) -> None:
        super().__init__(
            f"waiting for {component}",
            f"not ready after {seconds:.0f} s; last answer: {last}",
            f"its log is {log}; a slow machine may need another `mlcluster lab start`",
        )
        self.component = component
        self.log = log


class EndedMeanwhile(MlclusterError):  # noqa: N818 - reads as what happened
    """A component that others depend on ended while a command worked on the lab."""

    def __init__(self, component: str, log: Path) -> None:
        super().__init__(
            f"working with {component}",
            f"{component} ended unexpectedly",
            f"run the same command again: it starts {component} again and continues; its log is {log}",
        )
        self.component = component
        self.log = log


class LeftoverData(MlclusterError):  # noqa: N818 - reads as what it is
    """Data of a control plane without the record that says whose it is."""

    def __init__(self, name: str, root: Path) -> None:
        super().__init__(
            f"starting lab {name}",
            f"{root} holds data of a lab but no readable record of it",
            f"`mlcluster lab reset --name {name}` deletes it",
        )


class LabBusy(MlclusterError):  # noqa: N818 - reads as what it is
    """Another command works on the same lab."""

    def __init__(self, name: str, holder: str) -> None:
        super().__init__(
            f"working on lab {name}", f"another command is at it ({holder})", "wait for it to end, then try again"
        )


class NotRunning(MlclusterError):  # noqa: N818 - reads as what it is
    """The lab has to run for what was asked."""

    def __init__(self, doing: str, name: str, state: str) -> None:
        super().__init__(doing, f"lab {name} is {state}", f"`mlcluster lab start --name {name}` starts it")


@contextlib.contextmanager
def interruptible(doing: str, happened: str, hint: str) -> Iterator[None]:
    """Turn Ctrl-C into an error that says what is half done and how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        raise InterruptedByUserError(doing, happened, hint) from None
