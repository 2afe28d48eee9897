"""Standard output carries results, standard error everything else."""

import os
import sys


def print_result(text: str) -> None:
    """Writes a result, with one line end after it."""
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
    sys.stdout.flush()


def use_color(*, error: bool = False) -> bool:
    """Whether a stream takes colours: a terminal, unless NO_COLOR says no or FORCE_COLOR says yes."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return (sys.stderr if error else sys.stdout).isatty()
