"""Access entries: one for each principal, with everything that it is."""

from typing import Any

import pytest

from mlcluster.plan.bounds import default_requests
from mlcluster.plan.eks.access import access_entries, access_objects, administrators, caller_listing
from mlcluster.plan.namespaces import namespace_objects
from mlcluster.plan.quota import team_plans
from mlcluster.spec.teams import Team
from tests.eks_contexts import eks_context

pytestmark = pytest.mark.unit

ADMIN = "arn:aws:iam::111122223333:role/platform"
CI = "arn:aws:iam::111122223333:role/ci"
VIEWER = "arn:aws:iam::111122223333:user/auditor"
MEMBER = "arn:aws:iam::111122223333:role/aws-reserved/sso.amazonaws.com/ml"


def team(name: str, **roles: list[str]) -> dict[str, Any]:
    """Return a team with IAM roles."""
    return {"name": name, "members": {role: {"awsRoles": principals} for role, principals in roles.items()}}


def entries(*teams: dict[str, Any], **access: Any) -> dict[str, Any]:
    """Return entries by principal."""
    found = access_entries(eks_context(rest={"teams": list(teams)}, access=access))
    return {entry["principalArn"]: entry for entry in found.values()}


def policy_of(entry: dict[str, Any]) -> str:
    """Return the name of its only policy, cluster-wide."""
    (policy,) = entry["accessPolicies"].values()
    assert policy["accessScope"] == {"type": "cluster"}
    name: str = policy["policyArn"].removeprefix("arn:aws:eks::aws:cluster-access-policy/")
    return name


def test_by_default_only_the_creator_has_an_access_entry() -> None:
    assert entries() == {}


def test_admins_ci_and_viewers() -> None:
    found = entries(admins=[ADMIN], ci=CI, viewers=[VIEWER])
    assert {principal: policy_of(entry) for principal, entry in found.items()} == {
        ADMIN: "AmazonEKSClusterAdminPolicy",
        CI: "AmazonEKSClusterAdminPolicy",
        VIEWER: "AmazonEKSViewPolicy",
    }
    assert {principal: entry["kubernetesGroups"] for principal, entry in found.items()} == {
        ADMIN: [],
        CI: [],
        VIEWER: ["mlcluster:viewers"],
    }


def test_viewers_also_read_nodes_and_queues_and_never_secrets() -> None:
    role, binding = (entry.manifest for entry in access_objects(eks_context(access={"viewers": [VIEWER]})))
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == {"get", "list", "watch"}
    read = {
        (group, resource) for rule in role["rules"] for group in rule["apiGroups"] for resource in rule["resources"]
    }
    assert {("", "nodes"), ("kueue.x-k8s.io", "*")} <= read
    assert not {("", "secrets"), ("", "*"), ("*", "*")} & read
    (subject,) = binding["subjects"]
    assert (subject["kind"], subject["name"]) == ("Group", "mlcluster:viewers")
    assert binding["roleRef"]["name"] == role["metadata"]["name"]


def test_without_viewers_there_is_nothing_to_bind() -> None:
    assert access_objects(eks_context(access={"admins": [ADMIN]})) == []


def test_a_viewer_in_a_team_is_in_both_groups() -> None:
    found = entries(team("research", view=[MEMBER]), viewers=[MEMBER])
    assert found[MEMBER]["kubernetesGroups"] == ["mlcluster:viewers", "mlcluster:research:view"]


def test_members_are_in_the_groups_of_their_teams_and_have_no_policy() -> None:
    found = entries(team("research", edit=[MEMBER], view=[MEMBER]), team("product", admin=[MEMBER]))
    assert list(found) == [MEMBER]
    assert found[MEMBER]["kubernetesGroups"] == [
        "mlcluster:research:edit",
        "mlcluster:research:view",
        "mlcluster:product:admin",
    ]
    assert "accessPolicies" not in found[MEMBER]


def test_an_admin_who_is_also_a_team_member_has_one_access_entry() -> None:
    found = entries(team("research", admin=[ADMIN]), admins=[ADMIN, ADMIN], ci=ADMIN)
    assert list(found) == [ADMIN]
    assert policy_of(found[ADMIN]) == "AmazonEKSClusterAdminPolicy"
    assert found[ADMIN]["kubernetesGroups"] == ["mlcluster:research:admin"]


def test_a_role_given_twice_in_one_list_is_in_its_group_once() -> None:
    assert entries(team("research", view=[MEMBER, MEMBER]))[MEMBER]["kubernetesGroups"] == ["mlcluster:research:view"]


def test_keys_of_access_entries_do_not_depend_on_the_order_of_principals() -> None:
    one = access_entries(eks_context(access={"admins": [ADMIN, CI]}))
    other = access_entries(eks_context(access={"admins": [CI, ADMIN]}))
    assert one == other
    assert set(one) == {"111122223333:role/platform", "111122223333:role/ci"}


def test_groups_are_those_that_the_namespace_binds() -> None:
    data = team("research", edit=[MEMBER])
    context = eks_context(rest={"teams": [data]})
    (plan,) = team_plans(context.spec, context.pools)
    objects = namespace_objects("atlas", Team.model_validate(data), plan, default_requests(context.pools), ())
    (binding,) = [entry.manifest for entry in objects if entry.manifest["kind"] == "RoleBinding"]
    (entry,) = access_entries(context).values()
    assert [subject["name"] for subject in binding["subjects"]] == entry["kubernetesGroups"]


def test_administrators_are_listed_once() -> None:
    assert administrators(eks_context(access={"admins": [ADMIN], "ci": ADMIN})) == (ADMIN,)


@pytest.mark.parametrize(
    ("caller", "expected"),
    [
        (ADMIN, "administrator"),
        ("arn:aws:sts::111122223333:assumed-role/ci/run-7", "administrator"),
        ("arn:aws:sts::111122223333:assumed-role/ml/me@example.com", "other"),
        (VIEWER, "other"),
        ("arn:aws:sts::999900001111:assumed-role/ci/run-7", "unlisted"),
        ("arn:aws:iam::111122223333:user/ci", "unlisted"),
        ("arn:aws:iam::111122223333:role/stranger", "unlisted"),
        ("arn:aws:iam::111122223333:root", "unlisted"),
    ],
)
def test_the_caller_is_recognized_by_every_form_of_its_arn(caller: str, expected: str) -> None:
    access = {"admins": [ADMIN], "ci": CI, "viewers": [VIEWER]}
    context = eks_context(rest={"teams": [team("research", edit=[MEMBER])]}, access=access)
    assert caller_listing(context, caller) == expected
