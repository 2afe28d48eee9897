"""Kueue's objects: flavors, cohort, cluster queues, local queues."""

from typing import Any

import pytest
from hypothesis import given, settings

from mlcluster.catalog.gpus import ACCELERATOR_TAINT
from mlcluster.plan import build, names
from mlcluster.plan.model import Manifest, Plan
from tests.specs import EXISTING, SHARED, SYSTEM, TRAIN, Data, checked, manifests, planned
from tests.strategies import cluster_data

pytestmark = pytest.mark.unit

TAINTED: Data = {
    **TRAIN,
    "taints": [
        {"key": "dedicated", "value": "training", "effect": "NoSchedule"},
        {"key": "quiet", "effect": "NoExecute"},
    ],
}


def group_of(manifest: Manifest) -> Any:
    (group,) = manifest["spec"]["resourceGroups"]
    return group


def resource(manifest: Manifest, flavor: str, name: str) -> Any:
    """Return one entry of a queue's quota."""
    entry = next(entry for entry in group_of(manifest)["flavors"] if entry["name"] == flavor)
    return next(found for found in entry["resources"] if found["name"] == name)


def test_a_flavor_per_pool_with_labels_and_taints() -> None:
    flavors = manifests(planned(SYSTEM, TAINTED), "ResourceFlavor")
    assert list(flavors) == ["system", "train"]
    assert flavors["system"]["spec"] == {"nodeLabels": {names.POOL: "system"}}
    assert flavors["train"]["spec"]["nodeLabels"] == {names.POOL: "train"}
    assert flavors["train"]["spec"]["nodeTaints"] == [
        {"key": "dedicated", "value": "training", "effect": "NoSchedule"},
        {"key": "quiet", "value": "", "effect": "NoExecute"},
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
    ]


def test_a_flavor_tolerates_all_taints_but_the_accelerators() -> None:
    flavor = manifests(planned(TAINTED), "ResourceFlavor")["train"]
    assert flavor["spec"]["tolerations"] == [
        {"key": "dedicated", "operator": "Equal", "value": "training", "effect": "NoSchedule"},
        {"key": "quiet", "operator": "Equal", "value": "", "effect": "NoExecute"},
    ]
    existing = {**TRAIN, "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]}
    flavor = manifests(planned(existing, target=EXISTING), "ResourceFlavor")["train"]
    assert "tolerations" not in flavor["spec"]
    assert flavor["spec"]["nodeLabels"] == {"example.com/pool": "train"}


def test_covered_resources_are_the_same_everywhere_in_the_same_order() -> None:
    plan = planned(TRAIN, SYSTEM, SHARED, teams=[{"name": "research", "borrow": "all"}])
    for manifest in (manifests(plan, "ClusterQueue")["research"], manifests(plan, "Cohort")["atlas"]):
        group = group_of(manifest)
        covered = group["coveredResources"]
        assert covered == ["cpu", "memory", "ephemeral-storage", "pods", "nvidia.com/gpu", "nvidia.com/mig-1g.5gb"]
        assert [flavor["name"] for flavor in group["flavors"]] == ["system", "train", "shared"]
        for flavor in group["flavors"]:
            assert [entry["name"] for entry in flavor["resources"]] == covered
    assert resource(manifests(plan, "Cohort")["atlas"], "system", "nvidia.com/gpu")["nominalQuota"] == "0"


def test_limits_are_set_only_where_the_spec_has_them() -> None:
    teams: list[Data] = [
        {"name": "free", "guarantee": {"train": {"nodes": 2}}, "borrow": "all"},
        {"name": "tied", "guarantee": {"train": {"nodes": 2}}, "lend": "none"},
        {
            "name": "half",
            "guarantee": {"train": {"nodes": 2}},
            "borrow": {"train": {"nodes": 1}},
            "lend": {"train": {"gpus": 8}},
        },
    ]
    queues = manifests(planned(TRAIN, teams=teams), "ClusterQueue")
    gpu = {name: resource(queue, "train", "nvidia.com/gpu") for name, queue in queues.items()}
    assert gpu["free"] == {"name": "nvidia.com/gpu", "nominalQuota": "16"}
    assert gpu["tied"] == {"name": "nvidia.com/gpu", "nominalQuota": "16", "borrowingLimit": "0", "lendingLimit": "0"}
    assert gpu["half"] == {"name": "nvidia.com/gpu", "nominalQuota": "16", "borrowingLimit": "8", "lendingLimit": "8"}


def test_a_cohort_has_no_limits() -> None:
    """They need a parent, which a root cohort does not have (Kueue's webhook refuses them)."""
    cohort = manifests(planned(SYSTEM, TRAIN), "Cohort")["atlas"]
    entries = [entry for flavor in group_of(cohort)["flavors"] for entry in flavor["resources"]]
    assert {key for entry in entries for key in entry} == {"name", "nominalQuota"}


def test_a_cohort_that_keeps_the_remainder_back_has_no_quota() -> None:
    plan = planned(SYSTEM, cohorts=[{"name": "club", "share": "none"}])
    assert manifests(plan, "Cohort")["club"]["spec"] == {}


def test_a_cluster_queue_belongs_to_its_team() -> None:
    plan = planned(SYSTEM, teams=[{"name": "research", "borrow": "all"}])
    spec = manifests(plan, "ClusterQueue")["research"]["spec"]
    assert spec["namespaceSelector"] == {"matchLabels": {names.TEAM: "research"}}
    assert spec["cohortName"] == "atlas"
    assert spec["preemption"] == {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}
    local = manifests(plan, "LocalQueue")["research/default"]
    assert local["metadata"]["namespace"] == "research"
    assert local["spec"] == {"clusterQueue": "research"}


def test_a_team_without_quota_has_a_queue_without_groups() -> None:
    plan = planned(SYSTEM, teams=[{"name": "nobody"}])
    assert manifests(plan, "ClusterQueue")["nobody"]["spec"]["resourceGroups"] == []


def test_queues_are_created_after_the_objects_that_they_name() -> None:
    plan = planned(SYSTEM, TRAIN, teams=[{"name": "research", "guarantee": {"train": {"nodes": 1}}}])
    needs = {entry.id: set(entry.needs) for entry in plan.objects}
    assert needs["ResourceFlavor/train"] == {"Release/kueue"}
    assert needs["Cohort/atlas"] == {"Release/kueue", "ResourceFlavor/system", "ResourceFlavor/train"}
    assert needs["ClusterQueue/research"] == {"Release/kueue", "Cohort/atlas", "ResourceFlavor/train"}
    assert needs["LocalQueue/research/default"] == {"Namespace/research", "ClusterQueue/research"}


def _assert_well_formed(plan: Plan) -> None:
    flavors = set(manifests(plan, "ResourceFlavor"))
    queues = [*manifests(plan, "ClusterQueue").values(), *manifests(plan, "Cohort").values()]
    for group in (group for queue in queues for group in queue["spec"].get("resourceGroups", [])):
        listed = [flavor["name"] for flavor in group["flavors"]]
        assert len(set(listed)) == len(listed)
        assert set(listed) <= flavors
        for flavor in group["flavors"]:
            assert [entry["name"] for entry in flavor["resources"]] == group["coveredResources"]
    gpu_pools = {pool.name for pool in plan.pools if pool.accelerator is not None}
    for team in plan.teams:
        kinds = [quota.pool in gpu_pools for quota in team.quotas]
        assert kinds == sorted(kinds)
    for flavor in manifests(plan, "ResourceFlavor").values():
        tolerated = {entry["key"] for entry in flavor["spec"].get("tolerations", [])}
        assert ACCELERATOR_TAINT not in tolerated


@settings(max_examples=60)
@given(cluster_data())
def test_queues_of_any_spec_are_well_formed(data: Data) -> None:
    _assert_well_formed(build(checked(data)))
