"""The simulated AWS providers are strict: they check types against the SDK, and replacements against a table."""

from typing import Any

import pytest

from tests.fakes import replacement, sdk_types
from tests.fakes.aws_provider import changed_paths
from tests.fakes.eks_provider import opened, refusals

pytestmark = pytest.mark.unit
GROUP = "aws:eks/nodeGroup:NodeGroup"
VALID: dict[str, Any] = {
    "clusterName": "atlas",
    "nodeRoleArn": sdk_types.UNKNOWN,
    "subnetIds": ["subnet-1", sdk_types.UNKNOWN],
    "scalingConfig": {"minSize": 0, "maxSize": 2.0, "desiredSize": 0},
    "launchTemplate": {"id": "lt-1", "version": 3},
    "taints": [{"key": "a", "effect": "NO_SCHEDULE"}],
    "labels": {"a": "b"},
    "forceUpdateVersion": None,
}


def test_valid_inputs_have_no_problems() -> None:
    assert sdk_types.problems(VALID, GROUP) == []


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"label": {}}, "label: there is no such property"),
        ({"node_role_arn": "x"}, "node_role_arn: there is no such property"),
        ({"clusterName": None}, "clusterName: missing"),
        ({"subnetIds": "subnet-1"}, "subnetIds: not a list"),
        ({"subnetIds": ["a", {"b": 1}]}, "subnetIds[1]: {'b': 1} is no str"),
        ({"labels": ["a"]}, "labels: not a map"),
        ({"labels": {"a": True}}, "labels['a']: True is no str"),
        ({"diskSize": "20"}, "diskSize: '20' is no int"),
        ({"diskSize": 20.5}, "diskSize: 20.5 is no int"),
        ({"diskSize": True}, "diskSize: True is no int"),
        ({"forceUpdateVersion": "true"}, "forceUpdateVersion: 'true' is no bool"),
        ({"updateConfig": 1}, "updateConfig: not an object"),
        ({"updateConfig": {"maxUnavailble": 1}}, "updateConfig.maxUnavailble: there is no such property"),
        ({"taints": [{"key": "a"}]}, "taints[0].effect: missing"),
        ({"taints": [{"key": "a", "effect": "x", "vale": ""}]}, "taints[0].vale: there is no such property"),
    ],
)
def test_every_problem_has_its_path(changed: dict[str, Any], problem: str) -> None:
    assert sdk_types.problems({**VALID, **changed}, GROUP) == [problem]


@pytest.mark.parametrize("token", ["aws:ec2/vpcs:Vpc", "aws:ec2/vpc:VPC", "aws:nothing/vpc:Vpc", "aws:ec2/vpc:VpcArgs"])
def test_unknown_types_are_refused(token: str) -> None:
    with pytest.raises(sdk_types.NoSuchTypeError, match="is no resource type of pulumi_aws"):
        sdk_types.problems({}, token)


@pytest.mark.parametrize("token", replacement.RULES)
def test_the_table_of_replacements_names_properties_that_exist(token: str) -> None:
    rules = replacement.RULES[token]
    known = sdk_types.arguments(token)
    everywhere = {"region", "tags"}
    for path in (rules.replaces | rules.updates) - everywhere:
        top, _, rest = path.partition(".")
        assert top in known, f"{token} has no {top}"
        assert not rest or rest in sdk_types.members(known[top].kinds[0]), f"{token} has no {path}"
    assert not rules.replaces & rules.updates
    assert rules.source.endswith(".go")


def test_the_table_is_sorted_by_type() -> None:
    assert list(replacement.RULES) == sorted(replacement.RULES)


@pytest.mark.parametrize(
    ("path", "effect"),
    [
        ("taints[0].effect", "update"),
        ('labels["mlcluster.dev/pool"]', "update"),
        ("launchTemplate.version", "update"),
        ("launchTemplate.id", "replace"),
        ("instanceTypes[1]", "replace"),
        ("warmPoolConfig.minSize", "unknown"),
        ("launchTemplate", "unknown"),
        ("region", "replace"),
    ],
)
def test_a_change_updates_replaces_or_is_unknown(path: str, effect: str) -> None:
    assert replacement.effect(GROUP, path) == effect


def test_changes_are_listed_by_leaf() -> None:
    old = {"a": {"x/y": 1, "z": [1, 2]}, "gone": {"deep": True}, "same": [{"b": 1}]}
    new = {"a": {"x/y": 2, "z": [1, 2, 3]}, "new": {"deep": [0]}, "same": [{"b": 1}]}
    assert dict(changed_paths(old, new)) == {
        'a["x/y"]': "update",
        "a.z[2]": "add",
        "gone.deep": "delete",
        "new.deep[0]": "add",
    }


def test_the_fake_component_refuses_the_same_inputs_as_the_real_one() -> None:
    role = {"4dabf18193072939515e22adb298388d": "5cf8f73096256a8f31e491e813e4eb8e", "urn": "x"}
    base = {"authenticationMode": "API", "publicAccessCidrs": ["10.0.0.0/8"]}
    assert refusals(base) == []
    assert refusals({**base, "instanceRoles": [role]}) == ["instanceRoles: not allowed with authenticationMode API"]
    assert refusals({**base, "endpointPublicAccess": False}) == ["publicAccessCidrs: needs endpointPublicAccess"]
    assert refusals({"accessEntries": {"a": {"principalArn": "x"}}}) == ["accessEntries: needs authenticationMode API"]
    both = {"subnetIds": ["a"], "privateSubnetIds": ["b"]}
    assert refusals(both) == ["subnetIds: cannot stand beside publicSubnetIds or privateSubnetIds"]
    assert refusals({"authenticationMode": "api"}) == ["authenticationMode: 'api' is no AuthenticationMode"]


def test_outputs_and_secrets_in_inputs_are_unwrapped() -> None:
    signature = "4dabf18193072939515e22adb298388d"
    output, secret = "d0e6a833031e9bbcd3f4e8bde6ca49a4", "1b47061264138c4ac30d75fd1eb44270"
    inputs = {"a": [{signature: output, "value": 1}], "b": {signature: output}, "c": {signature: secret, "value": "s"}}
    assert opened(inputs) == {"a": [1], "b": sdk_types.UNKNOWN, "c": "s"}
