"""Priority tiers: two classes each, of the same value."""

import pytest

from tests.specs import SYSTEM, Data, manifests, planned

pytestmark = pytest.mark.unit

OWN: list[Data] = [
    {"name": "low", "value": 5},
    {"name": "high", "value": 50, "preemptsPods": True, "description": "serving"},
]


def test_default_tiers_highest_first() -> None:
    tiers = planned(SYSTEM).tiers
    assert [(tier.name, tier.value) for tier in tiers] == [
        ("production-critical", 10_000),
        ("time-sensitive-training", 1000),
        ("best-effort-experiment", 100),
    ]
    assert not any(tier.preempts_pods for tier in tiers)


def test_configured_tiers_are_sorted_by_priority() -> None:
    tiers = planned(SYSTEM, priorityTiers=OWN).tiers
    assert [(tier.name, tier.spec_path) for tier in tiers] == [
        ("high", ("priorityTiers", 1)),
        ("low", ("priorityTiers", 0)),
    ]


def test_the_scheduler_preempts_only_if_the_tier_allows_it() -> None:
    classes = manifests(planned(SYSTEM, priorityTiers=OWN), "PriorityClass")
    assert classes["low"]["preemptionPolicy"] == "Never"
    assert classes["high"]["preemptionPolicy"] == "PreemptLowerPriority"
    assert [entry["globalDefault"] for entry in classes.values()] == [False, False]
    assert [entry.get("description") for entry in classes.values()] == ["serving", None]


def test_both_classes_have_one_value() -> None:
    plan = planned(SYSTEM, priorityTiers=OWN)
    pods, workloads = manifests(plan, "PriorityClass"), manifests(plan, "WorkloadPriorityClass")
    assert {name: entry["value"] for name, entry in pods.items()} == {"high": 50, "low": 5}
    assert {name: entry["value"] for name, entry in workloads.items()} == {"high": 50, "low": 5}
    assert {name: entry["description"] for name, entry in workloads.items()} == {"high": "serving", "low": "low"}


def test_only_kueues_class_waits_for_kueue() -> None:
    needs = {entry.id: entry.needs for entry in planned(SYSTEM, priorityTiers=OWN).objects}
    assert needs["PriorityClass/low"] == ()
    assert needs["WorkloadPriorityClass/low"] == ("Release/kueue",)


def test_every_tier_preempts_only_headroom() -> None:
    target = {"kind": "eks", "region": "us-west-2"}
    plan = planned({**SYSTEM, "warm": {"nodes": 1}}, target=target, priorityTiers=OWN)
    classes = manifests(plan, "PriorityClass")
    assert {entry["preemptionPolicy"] for entry in classes.values()} == {"PreemptLowerPriority", "Never"}
    assert (classes["low"]["value"], classes["low"]["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert (classes["high"]["value"], classes["high"]["preemptionPolicy"]) == (50, "PreemptLowerPriority")
    assert classes["mlcluster-headroom"]["value"] < 0
    assert manifests(plan, "WorkloadPriorityClass")["low"]["value"] == 5
