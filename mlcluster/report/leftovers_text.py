"""Leftover resources of a cluster as text: retained ones, unknown ones, and commands to delete the rest."""

from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

from mlcluster.aws.leftovers import Leftover, Leftovers
from mlcluster.aws.leftovers.results import known_cost, unpriced
from mlcluster.report.tables import UNFOLDED, Page, table

RUN = "Run these commands in this order. If AWS is still deleting a dependency, wait a minute and repeat:"


def leftovers_text(found: Leftovers, *, color: bool = False) -> str:
    """Ends with "nothing left", or with the commands from top to bottom and how many things are left."""
    page = Page(color=color, width=UNFOLDED)
    if found.kept:
        page.print(Text(f"Kept in {found.region}: {_cost(found.kept, found)}"))
        page.print(_things(found.kept))
        _commands(page, "To remove that too:", [thing for thing in found.kept if thing.command])
    _unknown(page, found)
    if found.left:
        page.print(Text(f"Left in {found.region}: {_cost(found.left, found)}"))
        page.print(_things(found.left))
        _commands(page, RUN, found.left)
    page.print(_conclusion(found))
    return page.text()


def _things(things: Iterable[Leftover]) -> Table:
    made = table("KIND", "ID", "NAME", "ZONE", "$/H", "FOUND BY", "AFTER", right=("$/H",), folded=())
    for thing in things:
        short = _short(thing.id)
        name = "" if thing.name in {thing.id, short} else thing.name
        cells = (thing.kind, short, name, thing.zone, _usd(thing.hourly_usd), thing.why, _some(thing.blocked_by))
        made.add_row(*map(Text, cells))
    return made


def _short(name: str) -> str:
    """Return the distinct end of an ARN or URL; the command contains it in full."""
    return name.rpartition(":")[2] if name.startswith(("arn:", "https:")) else name


def _unknown(page: Page, found: Leftovers) -> None:
    if not found.unknown:
        return
    page.print(Text("Not known, so something of it may be left:", "yellow"))
    for one in found.unknown:
        need = f"allow {one.permission}" if one.permission else "; ".join(one.reason.splitlines())
        page.print(Text(f"  {one.kind}: {need}"))
    page.print()


def _commands(page: Page, heading: str, things: Sequence[Leftover]) -> None:
    page.print()
    if things:
        page.print(Text(heading))
        for thing in things:
            page.print(Text(f"  {thing.command or _by_itself(thing)}"))
        page.print()


def _by_itself(thing: Leftover) -> str:
    """Return a comment for the shell where there is no command."""
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
    """Return the sum of list prices, and how much of it is not known."""
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
