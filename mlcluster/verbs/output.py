"""Standard output carries results, standard error everything else."""

import os
import sys

from mlcluster.report.standard_output import write_line


def print_result(text: str) -> None:
    """Writes a result, with one line end after it; an OutputError if standard output cannot be written."""
    write_line(text)


def use_color(*, error: bool = False) -> bool:
    """Whether a stream takes colours: a terminal, unless NO_COLOR says no or FORCE_COLOR says yes."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return (sys.stderr if error else sys.stdout).isatty()
