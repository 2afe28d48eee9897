"""What a cluster left in its account, for a terminal: what is kept, what is not known, what to run."""

import io
from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mlcluster.aws.leftovers import Leftover, Leftovers
from mlcluster.aws.leftovers.things import known_cost, unpriced

WIDE = 132
MOST_COLUMNS = 2000


def leftovers_text(found: Leftovers, *, color: bool = False) -> str:
    """Ends with "nothing left", or with the commands from top to bottom and what it all costs."""
    text = io.StringIO()
    console = Console(
        file=text, force_terminal=color, no_color=not color, width=WIDE, highlight=False, markup=False, emoji=False
    )
    if found.kept:
        console.print(Text(f"Kept in {found.region}: {_cost(found.kept, found)}"))
        _table(console, found.kept)
        console.print()
    _unknown(console, found)
    if found.left:
        console.print(Text(f"Left in {found.region}: {_cost(found.left, found)}"))
        _table(console, found.left)
        console.print()
        _commands(console, found.left)
    console.print(_conclusion(found), soft_wrap=True)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def _table(console: Console, things: Iterable[Leftover]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in ("KIND", "ID", "NAME", "ZONE", "$/H", "FOUND BY", "AFTER"):
        table.add_column(column, no_wrap=True, justify="right" if column == "$/H" else "left")
    for thing in things:
        name = "" if thing.name in {thing.id, ""} else thing.name
        cells = (thing.kind, thing.id, name, thing.zone, _usd(thing.hourly_usd), thing.why, _some(thing.blocked_by))
        table.add_row(*map(Text, cells))
    # a terminal folds lines; a cell that is cut cannot be copied
    console.print(table, width=MOST_COLUMNS, soft_wrap=True, crop=False)


def _unknown(console: Console, found: Leftovers) -> None:
    if not found.unknown:
        return
    console.print(Text("Not known, so something of it may be left:", "yellow"))
    for one in found.unknown:
        need = f"allow {one.permission}" if one.permission else one.reason
        console.print(Text(f"  {one.kind}: {need}"), soft_wrap=True)
    console.print()


def _commands(console: Console, left: tuple[Leftover, ...]) -> None:
    console.print(Text("Run from top to bottom:"))
    for thing in left:
        by_itself = f"# {thing.kind} {thing.id} goes with {_some(thing.blocked_by) or 'what it belongs to'}"
        console.print(Text(f"  {thing.command or by_itself}"), soft_wrap=True)
    console.print()


def _conclusion(found: Leftovers) -> Text:
    if found.nothing_left:
        return Text(f"{found.cluster} in {found.region}: nothing left", "green")
    if not found.left:
        kinds = len(found.unknown)
        return Text(
            f"{found.cluster} in {found.region}: nothing found, but {kinds} "
            f"kind{'s' if kinds > 1 else ''} could not be asked for",
            "yellow",
        )
    count = len(found.left)
    thing = "thing is" if count == 1 else "things are"
    return Text(f"{found.cluster} in {found.region}: {count} {thing} left", "red")


def _cost(things: tuple[Leftover, ...], found: Leftovers) -> str:
    """The sum of list prices, and how much of it is not known."""
    missing = unpriced(things)
    without = f", and {missing} of unknown price" if missing else ""
    about = "" if found.exact else "≈ "
    return f"{about}${known_cost(things):,.4f} an hour{without} (us-east-1 list prices of {found.price_date})"


def _usd(value: float | None) -> str:
    if value is None:
        return "unknown"
    return f"{value:.4f}" if value else "-"


def _some(items: tuple[str, ...]) -> str:
    return ", ".join(items[:4]) + (f" and {len(items) - 4} more" if len(items) > 4 else "")
