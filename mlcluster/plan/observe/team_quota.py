"""What becomes of the quota of each team: guaranteed, used, borrowed, lent, free.

Kueue 0.18.3 reports quota, limits and reservations of each ClusterQueue (pkg/metrics/metrics.go) and what a cohort can
give out: its own quota and what its queues may lend (cohort_subtree_quota; cache/scheduler/resource_node.go,
SubtreeQuota). It reports neither who lends nor to whom. What teams borrow beyond the cohort's own quota is therefore
divided among those that have something unused to lend, in proportion to it.
"""

from mlcluster.plan.observe.promql import LEADER, text
from mlcluster.plan.observe.rule import Group, Record

GUARANTEED = "mlcluster:quota_guaranteed:amount"
USED = "mlcluster:quota_used:amount"
BORROWED = "mlcluster:quota_borrowed:amount"
LENT = "mlcluster:quota_lent:amount"
FREE = "mlcluster:quota_free:amount"
SHARES = {"guaranteed": GUARANTEED, "used": USED, "borrowed": BORROWED, "lent": LENT, "free": FREE}
"""Word of a dashboard -> its series, in the order of the words."""

_MAY_LEND = "mlcluster:quota_lending_limit:amount"
_TO_LEND = "mlcluster:quota_to_lend:amount"
_FROM_TEAMS = "mlcluster:cohort_borrowed_from_teams:amount"
_COHORT = "cohort, pool, resource"


def team_quota() -> Group:
    """Return the series, in units of the resource: cores, bytes, devices; each uses those before it."""
    limit = _of_queues("kueue_cluster_queue_lending_limit")
    unused = f"clamp_min({GUARANTEED} - {USED}, 0)"
    return Group(
        "mlcluster-team-quota",
        (
            Record(GUARANTEED, _of_queues("kueue_cluster_queue_nominal_quota")),
            Record(USED, f"{_of_queues('kueue_cluster_queue_resource_reservation')} or 0 * {GUARANTEED}"),
            Record(BORROWED, f"clamp_min({USED} - {GUARANTEED}, 0)"),
            Record(_MAY_LEND, f"{limit} < {GUARANTEED} or {GUARANTEED}"),
            Record(_TO_LEND, f"{_MAY_LEND} < {unused} or {unused}"),
            Record(_FROM_TEAMS, _from_teams()),
            Record(LENT, _lent()),
            Record(FREE, f"{unused} - {LENT}"),
        ),
    )


def _of_queues(metric: str) -> str:
    """Return a metric by team and pool: queues are called as teams are, flavors as pools before any dot."""
    named = f"{metric}{{{LEADER}}}"
    for theirs, ours, what in (("cluster_queue", "team", "(.+)"), ("flavor", "pool", "([^.]+).*")):
        named = f'label_replace({named}, "{ours}", "$1", "{theirs}", "{what}")'
    return f"sum by (team, {_COHORT}) ({named})"


def _from_teams() -> str:
    """Return what a cohort's teams have borrowed of each other: its own quota is lent first."""
    subtree = f'label_replace(kueue_cohort_subtree_quota{{{LEADER}}}, "pool", "$1", "flavor", "([^.]+).*")'
    borrowed = f"sum by ({_COHORT}) ({BORROWED})"
    return text(f"""
        clamp_min(
          {borrowed}
          - clamp_min(
            (sum by ({_COHORT}) ({subtree}) or 0 * {borrowed})
            - sum by ({_COHORT}) ({_MAY_LEND}),
            0
          ),
          0
        )
    """)


def _lent() -> str:
    """Return each team's part of that."""
    part = f"{_TO_LEND} / on ({_COHORT}) group_left () (sum by ({_COHORT}) ({_TO_LEND}) > 0)"
    return f"({part}) * on ({_COHORT}) group_left () {_FROM_TEAMS} or 0 * {GUARANTEED}"
