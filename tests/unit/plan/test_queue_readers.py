"""The rights of members to read queues."""

import pytest

from tests.specs import TRAIN, Data, manifests, planned, planned_unchecked

pytestmark = pytest.mark.unit

COHORTS = [{"name": "east"}, {"name": "west", "share": "none"}]


def team(name: str, **rest: object) -> Data:
    """Return a team with an editor."""
    return {"name": name, "members": {"edit": {"groups": [f"ml-{name}"]}}, **rest}


def readable(plan_of: list[Data], name: str, resource: str, **rest: object) -> list[str]:
    """Return the names of the objects of a kind that members of the team read."""
    role = manifests(planned(teams=plan_of, **rest), "ClusterRole")[f"mlcluster:{name}:queue-reader"]
    (rule,) = (rule for rule in role["rules"] if rule["resources"] == [resource])
    found: list[str] = rule["resourceNames"]
    return found


def test_members_read_the_queues_of_their_own_cohort() -> None:
    teams = [team("a", cohort="east"), team("b", cohort="west"), team("c", cohort="east")]
    assert readable(teams, "a", "clusterqueues", cohorts=COHORTS) == ["a", "c"]
    assert readable(teams, "a", "cohorts", cohorts=COHORTS) == ["east"]
    assert readable(teams, "b", "clusterqueues", cohorts=COHORTS) == ["b"]


def test_members_read_the_names_of_pending_workloads_of_their_own_queue_only() -> None:
    assert readable([team("a"), team("b")], "a", "clusterqueues/pendingworkloads") == ["a"]


def test_no_rule_is_for_writing() -> None:
    for role in manifests(planned(teams=[team("a")]), "ClusterRole").values():
        assert {verb for rule in role["rules"] for verb in rule["verbs"]} <= {"get", "list", "watch"}


def test_members_of_every_role_are_bound_once() -> None:
    arn = "arn:aws:iam::111122223333:role/ml"
    members = {
        "admin": {"groups": ["leads"]},
        "edit": {"groups": ["ml", "leads"], "users": ["bot"]},
        "view": {"awsRoles": [arn]},
    }
    target = {"kind": "eks", "region": "us-west-2"}
    plan = planned_unchecked(TRAIN, target=target, teams=[{"name": "a", "members": members}])
    binding = manifests(plan, "ClusterRoleBinding")["mlcluster:a:queue-reader"]
    assert binding["roleRef"]["name"] == "mlcluster:a:queue-reader"
    assert [(subject["kind"], subject["name"]) for subject in binding["subjects"]] == [
        ("Group", "leads"),
        ("Group", "ml"),
        ("User", "bot"),
        ("Group", "mlcluster:a:view"),
    ]


def test_a_team_without_members_has_no_role() -> None:
    assert not manifests(planned(teams=[{"name": "a"}]), "ClusterRole")
