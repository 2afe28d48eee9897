"""What teams used and what it costs, in GPU-hours and USD.

A GPU-hour is an hour of a whole physical GPU that a team's pod holds, used or not; a slice counts as its part. USD are
the price of a node over its GPUs: the price that the plan has, on demand, without discounts. A pool without a price has
no USD at all: nothing is better than zero on a bill.
"""

from mlcluster.plan.observe.facts import GPU_PRICE, NODE_PRICE
from mlcluster.plan.observe.promql import NODE_POOL
from mlcluster.plan.observe.records import ALLOCATED, USED
from mlcluster.plan.observe.rule import Group, Record

USD_RATE = "mlcluster:gpu_usd_per_hour:team"
GPU_HOURS = "mlcluster:gpu_hours:1h"
USED_HOURS = "mlcluster:gpu_used_hours:1h"
USD = "mlcluster:gpu_usd:1h"
POOL_RATE = "mlcluster:pool_usd_per_hour:usd"


def chargeback() -> Group:
    """Per team and pool: the last hour, again every minute; `over` adds hours up."""
    return Group(
        "mlcluster-chargeback",
        (
            Record(USD_RATE, f"sum by (team, pool) ({ALLOCATED}) * on (pool) group_left () {GPU_PRICE}"),
            Record(GPU_HOURS, _hours(f"sum by (team, pool) ({ALLOCATED})")),
            Record(USED_HOURS, _hours(f"sum by (team, pool) ({USED})")),
            Record(USD, _hours(USD_RATE)),
            Record(POOL_RATE, f"count by (pool) ({NODE_POOL}) * on (pool) group_left () {NODE_PRICE}"),
        ),
    )


def over(record: str, window: str) -> str:
    """A record of one hour, added up over a longer time, e.g. "7d"."""
    return f"sum_over_time({record}[{window}:1h])"


def _hours(rate: str) -> str:
    """Sixty samples of a rate make an hour; a minute that Prometheus missed counts as the one before it."""
    return f"sum_over_time(({rate})[1h:1m]) / 60"
