"""Guarantee, borrowing and lending of each team, as a table."""

from rich.table import Table
from rich.text import Text

from mlcluster.plan.model import FlavorQuota, Plan, Pool, TeamPlan
from mlcluster.report.numbers import amount, share, short
from mlcluster.report.tables import table


def teams_table(plan: Plan) -> Table:
    """Return a row for each team and pool, in the unit people count: accelerators where there are, else cores."""
    made = table(
        "TEAM", "POOL", "UNIT", "GUARANTEED", "SHARE", "MAY BORROW", "LENDS", "TIERS",
        right=("GUARANTEED", "SHARE", "MAY BORROW", "LENDS"), folded=("TIERS",),
    )  # fmt: skip
    pools = {pool.name: pool for pool in plan.pools}
    for team in plan.teams:
        for position, quota in enumerate(team.quotas):
            made.add_row(*_team_row(team, quota, pools[quota.pool], first=position == 0))
        if not team.quotas:
            made.add_row(Text(team.name, "cyan"), "-", "", "nothing", "", "nothing", "", ", ".join(team.tiers))
    for cohort in plan.cohorts:
        for position, (name, amounts) in enumerate(cohort.remainder.items()):
            resource = _counted(pools[name])
            left, whole = amounts.get(resource, 0), pools[name].capacity.get(resource, 0)
            label = Text("unassigned", "italic") if position == 0 else Text("")
            made.add_row(label, name, short(resource), amount(resource, left), share(left, whole), "", "all borrow", "")
    return made


def _counted(pool: Pool) -> str:
    """Return the resource by which shares of a pool are shown."""
    return pool.accelerator.resource if pool.accelerator is not None else "cpu"


def _team_row(team: TeamPlan, quota: FlavorQuota, pool: Pool, *, first: bool) -> list[Text | str]:
    resource = _counted(pool)
    nominal = quota.nominal.get(resource, 0)
    borrowing = "all idle" if quota.borrowing is None else amount(resource, quota.borrowing.get(resource, 0))
    lending = "all" if quota.lending is None else amount(resource, quota.lending.get(resource, 0))
    return [
        Text(team.name if first else "", "cyan"),
        pool.name,
        short(resource),
        amount(resource, nominal),
        share(nominal, pool.capacity.get(resource, 0)),
        borrowing,
        lending if nominal else "-",
        ", ".join(team.tiers) if first else "",
    ]
