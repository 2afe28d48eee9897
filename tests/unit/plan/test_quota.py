"""The quota arithmetic: guarantees, borrowing, lending, and the remainder."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlcluster.plan.model import FlavorQuota, Plan
from mlcluster.plan.quota import guaranteed_per_pool
from mlcluster.spec.problems import SpecInvalidError
from tests.specs import SHAPE, SHARED, SYSTEM, TRAIN, Data, planned, planned_unchecked
from tests.strategies import cluster_data

pytestmark = pytest.mark.unit


def share(pool: Data, guarantee: Data | None = None, **team: Any) -> FlavorQuota:
    """Return the quota of the one team of a one-pool cluster."""
    given_share = {} if guarantee is None else {"guarantee": {pool["name"]: guarantee}}
    return planned(pool, teams=[{"name": "research", **given_share, **team}]).teams[0].quotas[0]


def test_nodes_are_every_resource_in_proportion() -> None:
    assert share(SHAPE, {"nodes": 2}).nominal == {
        "cpu": 20_000,
        "memory": 200 * 1024,
        "ephemeral-storage": 100 * 1024,
        "pods": 220,
    }


def test_gpus_are_a_fraction_of_a_node() -> None:
    quota = share(TRAIN, {"gpus": 4})
    usable = planned(TRAIN).pools[0].usable
    assert quota.nominal == {name: amount // 2 for name, amount in usable.items()}
    assert quota.nominal["nvidia.com/gpu"] == 4


def test_slices_are_counted_as_pods_request_them() -> None:
    quota = share(SHARED, {"slices": 28})
    usable = planned(SHARED).pools[0].usable
    assert quota.nominal == {name: amount // 2 for name, amount in usable.items()}
    assert quota.nominal["nvidia.com/mig-1g.5gb"] == 28


def test_gpus_of_a_shared_pool_are_physical() -> None:
    assert share(SHARED, {"gpus": 4}).nominal["nvidia.com/mig-1g.5gb"] == 28
    sliced = {**TRAIN, "gpu": {"timeSlicing": {"replicas": 3}}}
    assert share(sliced, {"gpus": 4}).nominal["nvidia.com/gpu"] == 12


def test_fractions_round_down() -> None:
    quota = share(SHARED, {"slices": 1})
    usable = planned(SHARED).pools[0].usable
    assert quota.nominal["nvidia.com/mig-1g.5gb"] == 1
    assert quota.nominal["cpu"] == usable["cpu"] // 56
    assert quota.nominal["pods"] == 737 // 56


def test_reserved_resources_are_guaranteed_to_no_team() -> None:
    assert share({**SHAPE, "reserved": {"cpu": "1"}}, {"nodes": 1}).nominal["cpu"] == 9000


def test_borrowing() -> None:
    nothing = dict.fromkeys(planned(SHAPE).pools[0].usable, 0)
    assert share(SHAPE, {"nodes": 1}).borrowing == nothing
    assert share(SHAPE, {"nodes": 1}, borrow="none").borrowing == nothing
    assert share(SHAPE, {"nodes": 1}, borrow="all").borrowing is None
    assert share(SHAPE, {"nodes": 1}, borrow={"own": "all"}).borrowing is None
    limited = share(SHAPE, {"nodes": 1}, borrow={"own": {"nodes": 1}}).borrowing
    assert limited is not None
    assert limited["cpu"] == 10_000


def test_lending() -> None:
    assert share(SHAPE, {"nodes": 2}).lending is None
    assert share(SHAPE, {"nodes": 2}, lend="all").lending is None
    kept = share(SHAPE, {"nodes": 2}, lend="none").lending
    assert kept == dict.fromkeys(planned(SHAPE).pools[0].usable, 0)
    limited = share(SHAPE, {"nodes": 2}, lend={"own": {"nodes": 1}}).lending
    assert limited is not None
    assert limited["memory"] == 100 * 1024


def test_a_pool_without_a_limit_has_the_default() -> None:
    team = {
        "name": "research",
        "guarantee": {"system": {"nodes": 1}, "train": {"nodes": 1}},
        "borrow": {"train": "all"},
        "lend": {"train": "none"},
    }
    system, train = planned(SYSTEM, TRAIN, teams=[team]).teams[0].quotas
    assert system.borrowing == dict.fromkeys(system.nominal, 0)
    assert system.lending is None
    assert train.borrowing is None
    assert train.lending == dict.fromkeys(train.nominal, 0)


def test_a_pool_without_a_share_is_left_out() -> None:
    teams: list[Data] = [
        {"name": "research", "guarantee": {"train": {"nodes": 1}}},
        {"name": "students", "borrow": {"system": {"nodes": 1}}, "guarantee": {"train": {"nodes": 0}}},
        {"name": "guests", "borrow": "all"},
        {"name": "nobody"},
    ]
    plan = planned(SYSTEM, TRAIN, teams=teams)
    assert {team.name: [quota.pool for quota in team.quotas] for team in plan.teams} == {
        "research": ["train"],
        "students": ["system"],
        "guests": ["system", "train"],
        "nobody": [],
    }
    assert plan.teams[2].quotas[1].lending is None


def test_cpu_pools_come_first_in_every_list_of_flavors() -> None:
    plan = planned(TRAIN, SYSTEM, SHARED, SHAPE, teams=[{"name": "guests", "borrow": "all"}])
    assert [pool.name for pool in plan.pools] == ["train", "system", "shared", "own"]
    assert [quota.pool for quota in plan.teams[0].quotas] == ["system", "own", "train", "shared"]
    assert list(plan.cohorts[0].remainder) == ["system", "own", "train", "shared"]


def test_resources_without_a_guarantee_belong_to_the_cohort() -> None:
    teams = [{"name": name, "guarantee": {"train": {"nodes": 3}}} for name in ("research", "products")]
    (cohort,) = planned(SYSTEM, TRAIN, teams=teams).cohorts
    assert cohort.name == "atlas"
    assert cohort.remainder["train"]["nvidia.com/gpu"] == 16
    assert cohort.remainder["system"]["cpu"] == 4 * 7910
    assert cohort.spec_path == ("metadata", "name")


def test_a_cohort_may_keep_the_remainder_back() -> None:
    plan = planned(SYSTEM, cohorts=[{"name": "club", "share": "none"}], teams=[{"name": "research", "borrow": "all"}])
    assert [(cohort.name, cohort.remainder, cohort.spec_path) for cohort in plan.cohorts] == [
        ("club", {}, ("cohorts", 0))
    ]
    assert plan.teams[0].cohort == "club"


def test_tiers_of_a_team_default_to_every_tier() -> None:
    teams = [{"name": "research"}, {"name": "students", "tiers": ["best-effort-experiment"]}]
    first, second = planned(SYSTEM, teams=teams).teams
    assert first.tiers == ("production-critical", "time-sensitive-training", "best-effort-experiment")
    assert second.tiers == ("best-effort-experiment",)


def _conserved(plan: Plan) -> None:
    guaranteed = guaranteed_per_pool(plan.teams)
    for cohort in plan.cohorts:
        for pool in plan.pools:
            if cohort.remainder:
                left, given_away = cohort.remainder[pool.name], guaranteed.get(pool.name, {})
                together = {name: left[name] + given_away.get(name, 0) for name in pool.capacity}
                assert together == pool.capacity


@settings(max_examples=60)
@given(cluster_data())
def test_guarantees_and_remainder_are_the_capacity(data: Data) -> None:
    """For every pool and resource: nothing is promised twice, nothing is lost."""
    plan = planned(*data.pop("nodePools"), **{key: data[key] for key in ("target", "teams", "cohorts") if key in data})
    _conserved(plan)
    for team in plan.teams:
        for quota in team.quotas:
            assert all(amount >= 0 for amount in quota.nominal.values())
            assert quota.lending is None or all(quota.lending[name] <= quota.nominal[name] for name in quota.nominal)


@settings(max_examples=60)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=8))
def test_many_small_shares_never_pass_the_capacity(slices: list[int]) -> None:
    """Rounding down leaves something over, never too little: 112 MIG instances among teams."""
    while sum(slices) > 112:
        slices.pop()
    teams = [{"name": f"t{i}", "guarantee": {"shared": {"slices": n}}} for i, n in enumerate(slices)]
    plan = planned(SHARED, teams=teams)
    _conserved(plan)
    total = guaranteed_per_pool(plan.teams).get("shared", {})
    assert all(amount <= plan.pools[0].capacity[name] for name, amount in total.items())
    assert total.get("nvidia.com/mig-1g.5gb", 0) == sum(slices)


def test_a_guarantee_beyond_the_pool_never_reaches_the_plan() -> None:
    with pytest.raises(SpecInvalidError, match="greedy has a guarantee of 3 nodes of pool own, which has 2"):
        planned(SHAPE, teams=[{"name": "greedy", "guarantee": {"own": {"nodes": 3}}}])


def test_a_team_lends_at_most_its_guarantee() -> None:
    """The checks refuse it already; Kueue's webhook would refuse the queue."""
    team = {"name": "research", "guarantee": {"own": {"nodes": 1}}, "lend": {"own": {"nodes": 2}}}
    (quota,) = planned_unchecked(SHAPE, teams=[team]).teams[0].quotas
    assert quota.lending == quota.nominal
