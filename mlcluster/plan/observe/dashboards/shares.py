"""Panels of the quota of each team: guaranteed, used, borrowed, lent, free."""

from mlcluster.plan.observe.dashboards.parts import Panel, Query
from mlcluster.plan.observe.series import BORROWED, FREE, GPU_QUOTA, GUARANTEED, LENT, QUOTA_USED, SHARES

_MEANING = (
    "Used includes what is borrowed. Lent is an estimate: Kueue does not report from whom a team borrows, so what goes "
    "beyond the cohort's own quota is divided among the teams that have something unused to lend. Free is the rest of "
    "the guarantee."
)


def shares_table(chosen: str, *, gpus: bool) -> Panel:
    """Return the table of all shares by team, pool and resource, as they are now.

    Args:
        chosen: label matchers of the teams.
        gpus: of GPUs only.
    """
    only = f"{GPU_QUOTA},{chosen}" if gpus else chosen
    rows = [
        f'label_replace(sum by (team, pool, resource) ({series}{{{only}}}), "share", "{word}", "", "")'
        for word, series in SHARES.items()
    ]
    title = "GPU quota of each team now" if gpus else "Quota of each team now"
    return Panel(title, "table", (Query(" or ".join(rows)),), width=24, description=_MEANING)


def shares_over_time(chosen: str) -> tuple[Panel, ...]:
    """Return one picture for each kind of share of GPUs, teams on top of each other."""

    def panel(title: str, series: str, description: str = "") -> Panel:
        query = f"sum by (team, pool) ({series}{{{GPU_QUOTA},{chosen}}})"
        found = (Query(query, "{{team}} {{pool}}"),)
        return Panel(title, "timeseries", found, stacked=True, width=8, description=description)

    return (
        panel("GPU quota guaranteed", GUARANTEED),
        panel("GPU quota used", QUOTA_USED, "What admitted work has reserved, borrowed GPUs included."),
        panel("GPU quota borrowed", BORROWED),
        panel("GPU quota lent", LENT, _MEANING),
        panel("GPU quota guaranteed and free", FREE),
    )
