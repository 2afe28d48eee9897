"""The arithmetic of each pool as a table: from allocatable to guaranteed and unassigned amounts."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from mlcluster.plan.arithmetic import PoolArithmetic, arithmetic
from mlcluster.plan.model import Plan
from mlcluster.quantities import MEMORY_RESOURCES
from mlcluster.report.tables import table

_COLUMNS = (
    "POOL",
    "NODES",
    "OF",
    "ALLOCATABLE",
    "- DAEMON SETS",
    "- CONTROLLERS",
    "- RESERVED",
    "= GUARANTEED",
    "+ UNASSIGNED",
    "A TEAM'S NODE",
)
_NUMBERS = frozenset(_COLUMNS) - {"POOL", "OF"}
_ALWAYS = ("cpu", "memory")
_LEFT_OUT = frozenset({"ephemeral-storage", "pods"})
"""The document has them; here a line is shown only where controllers or daemon sets take all of one."""


def arithmetic_table(plan: Plan) -> Table:
    """Return how the quota of each pool comes about, at its maximum size."""
    made = table(*_COLUMNS, right=_NUMBERS, folded=())
    for row in arithmetic_rows(plan):
        made.add_row(*row)
    return made


def arithmetic_rows(plan: Plan) -> list[Sequence[str | Text]]:
    """Return the cells of the table: for each pool a row for CPU, memory, and each kind of device."""
    return [row for terms in arithmetic(plan) for row in _rows(terms)]


def arithmetic_note(plan: Plan) -> str:
    """Return the explanation of the columns `controllers` and `unassigned` in this plan."""
    shared = "it is kept back"
    if any(cohort.remainder for cohort in plan.cohorts):
        system = any(pool.system_only for pool in plan.pools)
        shared = f"every team may borrow it{', but nothing of a systemOnly pool' if system else ''}"
    return (
        "Controllers count wherever the scheduler may put them: all replicas on the pool, and all of them together on "
        f"a team's node, which is what `nodes: 1` guarantees. Unassigned: {shared}"
    )


def _rows(terms: PoolArithmetic) -> list[Sequence[str | Text]]:
    devices = [name for name in terms.allocatable if name not in {*_ALWAYS, *_LEFT_OUT}]
    spent = [name for name in terms.allocatable if name in _LEFT_OUT and not _left(terms, name)]
    rows: list[Sequence[str | Text]] = []
    for name in (*_ALWAYS, *devices, *spent):
        first = not rows
        rows.append(
            (
                Text(terms.pool if first else "", "cyan"),
                str(terms.nodes) if first else "",
                _named(name),
                *(
                    _spelled(name, part[name])
                    for part in (
                        terms.allocatable, terms.daemon_sets, terms.controllers, terms.reserved, terms.guaranteed,
                        terms.unassigned,
                    )
                ),
                _spelled(name, terms.node[name]) if name in terms.node else "-",
            )
        )  # fmt: skip
    return rows


def _spelled(resource: str, value: int) -> str:
    """Return an amount without rounding it, so that the terms of a line add up as they are read."""
    return f"{value / 1000:,.3f}" if resource == "cpu" and value else f"{value:,}"


def _named(resource: str) -> str:
    short = resource.removeprefix("nvidia.com/").removeprefix("vpc.amazonaws.com/")
    return f"{short} MiB" if resource in MEMORY_RESOURCES else short


def _left(terms: PoolArithmetic, name: str) -> bool:
    return bool(terms.guaranteed[name] or terms.unassigned[name])
