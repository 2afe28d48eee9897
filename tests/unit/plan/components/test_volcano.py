"""Volcano: preemption between tiers of a team, and supported versions of Kubernetes."""

from typing import Any

import pytest
import yaml

from mlcluster.findings import Finding
from mlcluster.plan.model import Plan
from mlcluster.rules.upgrades import kubernetes_range
from tests.specs import EXISTING, SYSTEM, TRAIN, Data, manifests, planned

pytestmark = pytest.mark.unit

PREEMPTING: Data = {"name": "urgent", "value": 1000, "preemptsPods": True}
PLAIN: Data = {"name": "batch", "value": 100}


def plan_of(*tiers: Data, **target: Any) -> Plan:
    teams = [{"name": "physics", "guarantee": {"train": {"nodes": 1}}, "scheduler": "volcano"}, {"name": "research"}]
    more = {"priorityTiers": list(tiers)} if tiers else {}
    return planned(SYSTEM, TRAIN, target=target or EXISTING, components={"volcano": {}}, teams=teams, **more)


def scheduler() -> dict[str, Any]:
    (release,) = (release for release in plan_of().releases if release.name == "volcano")
    found: dict[str, Any] = yaml.safe_load(release.values["custom"]["scheduler_config_override"])
    return found


def test_a_higher_tier_preempts_a_lower_tier() -> None:
    assert scheduler()["actions"].split(", ") == ["enqueue", "allocate", "preempt", "reclaim", "backfill"]


def test_the_plugin_gang_lets_whole_gangs_be_preempted() -> None:
    """With it, only pods beyond `minAvailable` are victims, so a gang that runs would never be one (gang.go, v1.15.1).

    In a tier of plugins, victims are those that all plugins name, so `priority` has to be beside it.
    """
    first, _ = scheduler()["tiers"]
    plugins = {plugin["name"]: plugin for plugin in first["plugins"]}
    assert plugins["gang"]["enablePreemptable"] is False
    assert plugins["priority"].get("enablePreemptable", True)


def told(plan: Plan) -> list[Finding]:
    return [finding for finding in plan.findings if finding.id == "KUE005"]


def test_a_tier_that_preempts_no_pods_is_reported() -> None:
    """Volcano passes over pods whose preemptionPolicy is Never, in preempt and in reclaim."""
    (finding,) = told(plan_of(PREEMPTING, PLAIN))
    assert "team physics" in finding.message
    assert "batch" in finding.message
    assert "urgent" not in finding.message
    assert told(plan_of(PREEMPTING)) == []
    policies = manifests(plan_of(PREEMPTING, PLAIN), "PriorityClass")
    assert policies["batch"]["preemptionPolicy"] == "Never"
    assert policies["urgent"]["preemptionPolicy"] == "PreemptLowerPriority"


@pytest.mark.parametrize(("version", "fits"), [("1.35", True), ("1.36", False)])
def test_the_newest_kubernetes_is_known(version: str, fits: bool) -> None:
    """The table of compatibility in the README of volcano-sh/volcano, row v1.15."""
    found = [finding for finding in kubernetes_range(plan_of(), version) if "Volcano" in finding.message]
    assert [finding.id for finding in found] == ([] if fits else ["UPG003"])
