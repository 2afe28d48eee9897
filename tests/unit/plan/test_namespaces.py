"""Objects in the namespace of each team."""

from typing import Any

import pytest
from hypothesis import given, settings

from mlcluster.plan import build, names
from mlcluster.plan.model import Plan, TeamPlan
from mlcluster.quantities import parse
from tests.specs import SHARED, SYSTEM, TRAIN, Data, checked, manifests, planned, planned_unchecked
from tests.strategies import cluster_data

pytestmark = pytest.mark.unit

RESEARCH: Data = {"name": "research", "guarantee": {"train": {"nodes": 2}}}


def hard_limits(team: Data, *pools: Data) -> dict[str, str]:
    """Return the ResourceQuota of one team."""
    plan = planned(*(pools or (SYSTEM, TRAIN)), teams=[team])
    found: dict[str, str] = manifests(plan, "ResourceQuota")[f"{team['name']}/team"]["spec"]["hard"]
    return found


def test_a_namespace_has_the_label_of_its_team() -> None:
    team = {**RESEARCH, "tiers": ["production-critical", "best-effort-experiment"], "podSecurity": "restricted"}
    metadata = manifests(planned(teams=[team]), "Namespace")["research"]["metadata"]
    assert metadata["labels"] == {
        names.MANAGED_BY: "mlcluster",
        names.CLUSTER: "atlas",
        names.TEAM: "research",
        "pod-security.kubernetes.io/enforce": "restricted",
        "pod-security.kubernetes.io/enforce-version": "latest",
    }
    assert metadata["annotations"] == {
        names.TIERS: "production-critical,best-effort-experiment",
        names.POOLS: "train",
        names.GRACE_PERIOD: "600",
        names.CLOSED: "ingresses,loadBalancers",
    }


def test_a_namespace_comes_after_every_policy_and_its_binding() -> None:
    plan = planned(teams=[RESEARCH])
    policies = {entry.id for entry in plan.objects if entry.id.startswith("ValidatingAdmissionPolicy")}
    namespace = next(entry for entry in plan.objects if entry.id == "Namespace/research")
    assert len(policies) == 48
    assert set(namespace.needs) == policies


def test_the_objects_of_a_namespace() -> None:
    plan = planned(teams=[RESEARCH])
    inside = {entry.id for entry in plan.objects if entry.manifest["metadata"].get("namespace") == "research"}
    assert inside == {
        "LimitRange/research/team",
        "LocalQueue/research/default",
        "NetworkPolicy/research/team",
        "ResourceQuota/research/team",
    }
    for entry in plan.objects:
        if entry.id in inside:
            assert "Namespace/research" in entry.needs
            assert entry.manifest["metadata"]["labels"][names.TEAM] == "research"


def test_the_resource_quota_is_twice_the_quota_of_kueue() -> None:
    hard = hard_limits(RESEARCH)
    assert hard["requests.nvidia.com/gpu"] == "32"
    assert hard["requests.cpu"] == "765800m"
    assert hard["pods"] == "400"
    assert hard["count/jobs.batch"] == "5k"
    assert hard["services.nodeports"] == "0"
    assert list(hard)[:4] == ["requests.cpu", "requests.memory", "requests.ephemeral-storage", "pods"]


def test_resources_without_a_share_are_limited_to_zero() -> None:
    hard = hard_limits({"name": "students", "guarantee": {"system": {"nodes": 1}}}, SYSTEM, TRAIN, SHARED)
    assert hard["requests.nvidia.com/gpu"] == "0"
    assert hard["requests.nvidia.com/mig-1g.5gb"] == "0"


def test_borrowing_raises_the_resource_quota_to_the_capacity_at_most() -> None:
    assert hard_limits({**RESEARCH, "borrow": {"train": {"nodes": 1}}})["requests.nvidia.com/gpu"] == "48"
    assert hard_limits({**RESEARCH, "borrow": {"train": {"nodes": 100}}})["requests.nvidia.com/gpu"] == "128"
    assert hard_limits({**RESEARCH, "borrow": "all"})["requests.nvidia.com/gpu"] == "128"


def test_the_limit_range_gives_requests_and_no_limits() -> None:
    spec = manifests(planned(teams=[RESEARCH]), "LimitRange")["research/team"]["spec"]
    (limit,) = spec["limits"]
    assert limit == {
        "type": "Container",
        "defaultRequest": {"cpu": "500m", "memory": "1Gi", "ephemeral-storage": "1Gi"},
    }


def test_roles_are_bound_to_groups_and_users() -> None:
    members = {"admin": {"groups": ["leads"]}, "edit": {"groups": ["ml"], "users": ["bot"]}}
    bindings = manifests(planned(teams=[{**RESEARCH, "members": members}]), "RoleBinding")
    assert list(bindings) == ["research/mlcluster:admin", "research/mlcluster:edit"]
    edit = bindings["research/mlcluster:edit"]
    api = "rbac.authorization.k8s.io"
    assert edit["roleRef"] == {"apiGroup": api, "kind": "ClusterRole", "name": "edit"}
    assert edit["subjects"] == [
        {"apiGroup": api, "kind": "Group", "name": "ml"},
        {"apiGroup": api, "kind": "User", "name": "bot"},
    ]


def test_iam_roles_come_in_as_one_group_per_team_and_role() -> None:
    """EKS access entries map IAM roles to Kubernetes groups; the role's name would not do, it may be long."""
    arns = ["arn:aws:iam::111122223333:role/ml", "arn:aws:iam::111122223333:role/more"]
    team = {**RESEARCH, "members": {"view": {"awsRoles": arns}}}
    plan = planned_unchecked(TRAIN, target={"kind": "eks", "region": "us-west-2"}, teams=[team])
    (subject,) = manifests(plan, "RoleBinding")["research/mlcluster:view"]["subjects"]
    assert (subject["kind"], subject["name"]) == ("Group", "mlcluster:research:view")


def test_without_configured_members_there_are_no_role_bindings() -> None:
    assert manifests(planned(teams=[RESEARCH]), "RoleBinding") == {}


def _most(team: TeamPlan, plan: Plan) -> dict[str, int]:
    """Return the resources that Kueue may admit for a team at once: nominal and borrowed, at most those of the pool."""
    pools = {pool.name: pool.capacity for pool in plan.pools}
    total: dict[str, int] = {}
    for quota in team.quotas:
        for name, capacity in pools[quota.pool].items():
            wanted = capacity if quota.borrowing is None else quota.nominal[name] + quota.borrowing[name]
            total[name] = total.get(name, 0) + min(capacity, wanted)
    return total


@settings(max_examples=60)
@given(cluster_data())
def test_the_resource_quota_never_blocks_admitted_workloads(data: Data) -> None:
    plan = build(checked(data))
    quotas = manifests(plan, "ResourceQuota")
    for team in plan.teams:
        hard: dict[str, Any] = quotas[f"{team.namespace}/team"]["spec"]["hard"]
        for name, amount in _most(team, plan).items():
            key = "pods" if name == "pods" else f"requests.{name}"
            assert parse(name, hard[key]) >= amount
