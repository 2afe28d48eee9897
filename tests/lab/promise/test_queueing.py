"""Gangs, borrowing, reclaim, tiers and reasons, decided by the real Kueue."""

import time

import pytest

from tests.lab.workloads import Tenant, assert_stays, condition, job, pod_spec
from tests.waiting import wait_for

pytestmark = pytest.mark.lab
NODE = 8
TRAINING = "time-sensitive-training"
EXPERIMENT = "best-effort-experiment"


def _gpu_job(team: Tenant, name: str, nodes: int, tier: str = "") -> None:
    team.submit(job(name, team.namespace, pod_spec(gpus=NODE), pods=nodes, tier=tier))


def test_gang_is_admitted_whole_or_not_at_all(research: Tenant, products: Tenant) -> None:
    research.submit(job("whole", "research", pod_spec(gpus=4), pods=8))
    wait_for("eight pods run", lambda: research.running("whole") == 8)
    research.clean()
    _gpu_job(products, "own", 3)
    wait_for("products runs", lambda: products.running("own") == 3)
    research.submit(job("too-big-now", "research", pod_spec(gpus=6), pods=8))
    research.assert_waits_because("too-big-now", "nvidia.com/gpu in flavor train")
    assert_stays("no pod of the gang", lambda: not research.pods_of("too-big-now"))


def test_a_team_borrows_idle_quota_and_its_owner_reclaims_it(research: Tenant, products: Tenant) -> None:
    _gpu_job(research, "own", 4)
    wait_for("the guaranteed part runs first", lambda: research.running("own") == 4)
    second = int(time.time())  # the newest is taken back first, and Kueue tells ages by whole seconds
    wait_for("the next one is younger", lambda: int(time.time()) > second)
    _gpu_job(research, "borrowed-a", 2)
    _gpu_job(research, "borrowed-b", 1)
    wait_for("seven nodes are used", lambda: sum(map(research.running, ("own", "borrowed-a", "borrowed-b"))) == 7)
    _gpu_job(products, "ours", 3)
    wait_for("the owner runs", lambda: products.running("ours") == 3)
    displaced = ("borrowed-b", "borrowed-a")
    evicted = wait_for(
        "Kueue says whom it has displaced",
        lambda: next(filter(None, (condition(research.workload(name), "Preempted") for name in displaced)), None),
    )
    assert evicted["reason"] == "InCohortReclamation"
    assert "due to reclamation within the cohort" in evicted["message"]
    assert research.running("own") == 4


def test_lending_is_limited(research: Tenant, products: Tenant) -> None:
    """Products lends 16 of its 24 GPUs: 32 guaranteed + 8 unassigned + 16 lent = 56 for research, not 64."""
    _gpu_job(research, "most", 7)
    wait_for("seven nodes run", lambda: research.running("most") == 7)
    _gpu_job(research, "one-more", 1)
    research.assert_waits_because("one-more", "nvidia.com/gpu")
    del products


def test_a_higher_tier_preempts_a_lower_tier(products: Tenant) -> None:
    _gpu_job(products, "low", 3, EXPERIMENT)
    wait_for("the low tier runs", lambda: products.running("low") == 3)
    products.submit(job("fill", "products", pod_spec(gpus=NODE), pods=2, tier=EXPERIMENT))
    wait_for("the borrowed part runs", lambda: products.running("fill") == 2)
    _gpu_job(products, "high", 3, TRAINING)
    wait_for("the high tier runs", lambda: products.running("high") == 3)
    low = condition(products.workload("low"), "Preempted") or condition(products.workload("fill"), "Preempted")
    assert low["reason"] == "InClusterQueue"


def test_job_over_quota_waits_with_the_reason(students: Tenant) -> None:
    students.submit(job("greedy", "students", pod_spec(gpus=1)))
    students.assert_waits_because("greedy", "nvidia.com/gpu unavailable in ClusterQueue")
    assert (students.job("greedy") or {})["spec"]["suspend"] is True


def test_mig_slices_are_quota_too(students: Tenant) -> None:
    spec = pod_spec(tolerate=True)
    spec["containers"][0]["resources"] = {
        "requests": {"cpu": "100m", "memory": "1Gi", "nvidia.com/mig-1g.5gb": "7"},
        "limits": {"nvidia.com/mig-1g.5gb": "7"},
    }
    students.submit(job("slices", "students", spec, pods=4))
    wait_for("28 borrowed slices run", lambda: students.running("slices") == 4)
    students.submit(job("one-more", "students", spec))
    students.assert_waits_because("one-more", "nvidia.com/mig-1g.5gb")
