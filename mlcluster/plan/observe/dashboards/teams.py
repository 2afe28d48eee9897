"""The dashboard of teams: quota, requests, real use, and cost."""

from mlcluster.plan.model import Manifest
from mlcluster.plan.observe.dashboards.parts import Choice, Panel, Query, dashboard
from mlcluster.plan.observe.dashboards.shares import shares_over_time, shares_table
from mlcluster.plan.observe.series import (
    ALLOCATED,
    GPU_HOURS,
    IDLE_COUNT,
    QUOTA,
    RESERVED,
    TEAM,
    USD,
    USED,
    USED_HOURS,
    over,
)

_TEAM = 'team=~"$team"'
_CHOSEN = f"{{{_TEAM}}}"
_PRICES = "Prices of the plan, on demand, without discounts; pools without a price are left out."


def teams_dashboard() -> Manifest:
    """Return the dashboard for teams and for chargeback."""
    shares = (shares_table(_TEAM, gpus=True), *shares_over_time(_TEAM))
    panels = (*_bill(), *shares, *_over_time())
    return dashboard("mlcluster-teams", "mlcluster / Teams", panels, (Choice("team", "team", TEAM),))


def _bill() -> tuple[Panel, ...]:
    hours, used, usd = (_sum(record, "team") for record in (GPU_HOURS, USED_HOURS, USD))
    return (
        Panel(
            "GPU-hours, in the time chosen above",
            "table",
            (Query(_sum(GPU_HOURS, "team, pool")),),
            width=8,
            description="Hours of whole physical GPUs that pods held; a slice counts as its part.",
        ),
        Panel("USD, in the time chosen above", "table", (Query(_sum(USD, "team, pool")),), "currencyUSD", width=8),
        Panel("Used of what was held", "stat", (Query(f"{used} / {hours}", "{{team}}"),), "percentunit", width=8),
        Panel("USD per team", "stat", (Query(usd, "{{team}}"),), "currencyUSD", width=24, description=_PRICES),
    )


def _over_time() -> tuple[Panel, ...]:
    def by_team(record: str) -> str:
        return f"sum by (team) ({record}{_CHOSEN})"

    return (
        Panel(
            "Guaranteed, reserved, held and used GPUs",
            "timeseries",
            (
                Query(by_team(QUOTA), "{{team}} guaranteed"),
                Query(by_team(RESERVED), "{{team}} reserved"),
                Query(by_team(ALLOCATED), "{{team}} held"),
                Query(by_team(USED), "{{team}} used"),
            ),
            width=24,
        ),
        Panel("Held GPUs", "timeseries", (Query(by_team(ALLOCATED), "{{team}}"),), stacked=True),
        Panel("Used GPUs", "timeseries", (Query(by_team(USED), "{{team}}"),), stacked=True),
        Panel("GPUs that do nothing", "timeseries", (Query(by_team(IDLE_COUNT), "{{team}}"),), stacked=True),
        Panel("GPU-hours in each hour", "timeseries", (Query(by_team(GPU_HOURS), "{{team}}"),), stacked=True),
        Panel("USD in each hour", "timeseries", (Query(by_team(USD), "{{team}}"),), "currencyUSD", stacked=True),
        Panel(
            "Share of the time that held GPUs work",
            "timeseries",
            (Query(f"{by_team(USED)} / {by_team(ALLOCATED)}", "{{team}}"),),
            "percentunit",
        ),
    )


def _sum(record: str, by: str) -> str:
    return f"sum by ({by}) ({over(f'{record}{_CHOSEN}', '$__range')})"
