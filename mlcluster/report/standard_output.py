"""Standard output carries results, standard error everything else. Its reader may end before the results do."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from mlcluster.errors import MlclusterError


class OutputError(MlclusterError):
    """Standard output cannot be written: its reader, such as `head`, has ended, or the disk is full."""

    def __init__(self, error: OSError) -> None:
        reason = "its reader has ended" if isinstance(error, BrokenPipeError) else error.strerror or str(error)
        super().__init__("writing to standard output", reason)


@contextmanager
def writing() -> Iterator[None]:
    """Turn an OSError of standard output into an OutputError; all later output goes nowhere."""
    try:
        yield
    except OSError as error:
        _discard()
        raise OutputError(error) from error


def write(text: str) -> None:
    """Write a text to standard output at once.

    Raises:
        OutputError: it cannot be written.
    """
    with writing():
        sys.stdout.write(text)
        sys.stdout.flush()


def print_result(text: str) -> None:
    """Write a result with one line end after it; see `write`."""
    write(text if text.endswith("\n") else f"{text}\n")


def use_color(*, error: bool = False) -> bool:
    """Return whether a stream takes colors: a terminal does, unless NO_COLOR is set; FORCE_COLOR makes every one do."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return (sys.stderr if error else sys.stdout).isatty()


def _discard() -> None:
    """Point standard output to nowhere: the interpreter flushes the rest of it at its end, and would fail again."""
    with suppress(OSError), open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - a device
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
