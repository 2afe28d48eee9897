"""Tables and lines for a terminal, as text."""

import io
from collections.abc import Container
from typing import cast

from rich.cells import cell_len
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

WIDE = 132
"""Columns of a page whose long cells and lines are folded."""

UNFOLDED = 2000
"""Columns of a page that people copy names, paths and commands out of: a terminal folds the lines by itself."""


class Page(Console):
    """A console that keeps the printed text; it does not interpret markup."""

    def __init__(self, *, color: bool, width: int = WIDE) -> None:
        super().__init__(
            file=io.StringIO(),
            force_terminal=color,
            no_color=not color,
            width=width,
            highlight=False,
            markup=False,
            emoji=False,
        )

    def text(self) -> str:
        """Return the printed text, without spaces at the ends of lines."""
        text = cast("io.StringIO", self.file).getvalue()
        return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"

    def print_whole(self, table: Table) -> None:
        """Print a table on as many columns as it needs: rich would leave columns out of a narrow page."""
        for column in table.columns:
            if column.no_wrap:
                cells = [str(column.header), *map(str, column.cells)]
                column.width = max(cell_len(line) for cell in cells for line in cell.splitlines() or [""])
        width = self.width
        roomy = self.options.update(max_width=UNFOLDED)
        self.width = max(width, Measurement.get(self, roomy, table).minimum)
        self.print(table)
        self.width = width


def table(*columns: str, right: Container[str] = (), folded: Container[str] | None = None) -> Table:
    """Return an empty table.

    Args:
        columns: their headers.
        right: columns that are aligned to the right.
        folded: columns whose cells may be folded; None: all.
    """
    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        whole = folded is not None and column not in folded
        made.add_column(column, justify="right" if column in right else "left", no_wrap=whole)
    return made
