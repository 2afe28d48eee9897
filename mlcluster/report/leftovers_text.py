"""What a cluster left in its account, for a terminal: what is kept, what is not known, what to run."""

import io
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mlcluster.aws.leftovers import Leftover, Leftovers
from mlcluster.aws.leftovers.things import known_cost, unpriced

MOST_COLUMNS = 2000
"""A terminal folds long lines; a cell or command that is cut cannot be copied."""

RUN = "Run from top to bottom; what AWS still takes away holds others for a minute, then the command works:"


def leftovers_text(found: Leftovers, *, color: bool = False) -> str:
    """Ends with "nothing left", or with the commands from top to bottom and how many things are left."""
    text = io.StringIO()
    console = Console(
        file=text,
        force_terminal=color,
        no_color=not color,
        width=MOST_COLUMNS,
        highlight=False,
        markup=False,
        emoji=False,
    )
    if found.kept:
        console.print(Text(f"Kept in {found.region}: {_cost(found.kept, found)}"))
        console.print(_table(found.kept))
        _commands(console, "To remove that too:", [thing for thing in found.kept if thing.command])
    _unknown(console, found)
    if found.left:
        console.print(Text(f"Left in {found.region}: {_cost(found.left, found)}"))
        console.print(_table(found.left))
        _commands(console, RUN, found.left)
    console.print(_conclusion(found))
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def _table(things: Iterable[Leftover]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in ("KIND", "ID", "NAME", "ZONE", "$/H", "FOUND BY", "AFTER"):
        table.add_column(column, no_wrap=True, justify="right" if column == "$/H" else "left")
    for thing in things:
        short = _short(thing.id)
        name = "" if thing.name in {thing.id, short} else thing.name
        cells = (thing.kind, short, name, thing.zone, _usd(thing.hourly_usd), thing.why, _some(thing.blocked_by))
        table.add_row(*map(Text, cells))
    return table


def _short(identifier: str) -> str:
    """What tells an ARN or URL apart: the command has it whole."""
    return identifier.rpartition(":")[2] if identifier.startswith(("arn:", "https:")) else identifier


def _unknown(console: Console, found: Leftovers) -> None:
    if not found.unknown:
        return
    console.print(Text("Not known, so something of it may be left:", "yellow"))
    for one in found.unknown:
        need = f"allow {one.permission}" if one.permission else "; ".join(one.reason.splitlines())
        console.print(Text(f"  {one.kind}: {need}"))
    console.print()


def _commands(console: Console, heading: str, things: Sequence[Leftover]) -> None:
    console.print()
    if things:
        console.print(Text(heading))
        for thing in things:
            console.print(Text(f"  {thing.command or _by_itself(thing)}"))
        console.print()


def _by_itself(thing: Leftover) -> str:
    """A comment for the shell where there is no command."""
    if thing.blocked_by:
        return f"# {thing.kind} {thing.id} goes with {_some(thing.blocked_by)}"
    return f"# {thing.kind} {thing.id}: look at it in the AWS console"


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
    return ", ".join(map(_short, items[:4])) + (f" and {len(items) - 4} more" if len(items) > 4 else "")
