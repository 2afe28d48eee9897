"""Operations that changes of the plan cause: the real engine, the types of the SDK, a table of forced replacements."""

from dataclasses import replace
from typing import Any

import pytest

from mlcluster.engine.engine import Engine
from mlcluster.errors import MlclusterError
from mlcluster.plan.values import Base64Text, Ref
from tests.fakes.cloud import Cloud
from tests.fakes.cloud_stack import CloudPlan, EngineOf, Running, cloud_plan, storage_class

pytestmark = pytest.mark.engine
Told = list[tuple[str, str, tuple[str, ...], tuple[str, ...]]]

GROUP, TEMPLATE, CONTROL_PLANE = "NodeGroup/train", "LaunchTemplate/train", "Cluster/atlas-eksCluster"
EFA_INTERFACES = [
    {"deviceIndex": 0, "networkCardIndex": 0, "interfaceType": "efa", "deleteOnTermination": "true"},
    {"deviceIndex": 1, "networkCardIndex": 1, "interfaceType": "efa-only", "deleteOnTermination": "true"},
]


def _group(**inputs: Any) -> CloudPlan:
    return cloud_plan().with_inputs(GROUP, **inputs)


def _template(**inputs: Any) -> CloudPlan:
    return cloud_plan().with_inputs(TEMPLATE, **inputs)


def _told(engine: Engine) -> Told:
    return [(one.id, one.op, one.paths, one.replaces_because) for one in engine.preview().effective]


def _update(plan_id: str, *paths: str) -> Any:
    return (plan_id, "update", paths, ())


TAG_OF_A_NEW_GROUP = ("Tag/train", "replace", (), ("autoscalingGroupName",))
TEMPLATE_AND_GROUP = _update(GROUP, "launchTemplate.version")


@pytest.mark.parametrize(
    ("plan", "told"),
    [
        (
            _group(labels={"mlcluster.dev/pool": "train", "purpose": "training"}),
            [_update(GROUP, "labels.purpose")],
        ),
        (
            _group(taints=[{"key": "dedicated", "value": "training", "effect": "NO_EXECUTE"}]),
            [_update(GROUP, "taints[0].effect")],
        ),
        (
            _group(scalingConfig={"minSize": 1, "maxSize": 12, "desiredSize": 1}),
            [_update(GROUP, "scalingConfig.maxSize", "scalingConfig.minSize")],
        ),
        (_group(releaseVersion="1.34.2-20251110"), [_update(GROUP, "releaseVersion")]),
        (
            _template(instanceType="p5e.48xlarge"),
            [_update(TEMPLATE, "instanceType"), TEMPLATE_AND_GROUP],
        ),
        (_template(userData=Base64Text("other\n")), [_update(TEMPLATE, "userData"), TEMPLATE_AND_GROUP]),
        (
            _group(amiType="BOTTLEROCKET_x86_64_NVIDIA"),
            [(GROUP, "replace", ("amiType",), ("amiType",)), TAG_OF_A_NEW_GROUP],
        ),
        (
            _group(capacityType="CAPACITY_BLOCK"),
            [(GROUP, "replace", ("capacityType",), ("capacityType",)), TAG_OF_A_NEW_GROUP],
        ),
        (
            cloud_plan().with_inputs("Cluster/atlas", version="1.35").with_inputs(GROUP, version="1.35"),
            [_update(CONTROL_PLANE, "version"), _update(GROUP, "version")],
        ),
        (
            cloud_plan().with_inputs("Addon/vpc-cni", addonVersion="v1.20.1-eksbuild.1"),
            [_update("Addon/vpc-cni", "addonVersion")],
        ),
    ],
    ids="label taint size ami-release instance-type user-data ami-type capacity minor addon".split(),  # noqa: SIM905
)
def test_every_change_of_the_table_has_its_operation(plan: CloudPlan, told: Told, running: Running) -> None:
    found = [change for change in _told(running.engine_of(plan)) if change[0] != "Cluster/atlas"]
    assert found == sorted(told)


def test_efa_is_a_new_launch_template_version_that_the_group_uses(cloud_engine_of: EngineOf, cloud: Cloud) -> None:
    cloud_engine_of(cloud_plan()).up()
    plan = _template(networkInterfaces=EFA_INTERFACES, vpcSecurityGroupIds=None)
    engine = cloud_engine_of(plan)
    assert [change[:2] for change in _told(engine)] == [(TEMPLATE, "update"), (GROUP, "update")]
    engine.up()
    assert cloud.one(TEMPLATE).outputs["latestVersion"] == 2
    assert cloud.one(GROUP).inputs["launchTemplate"]["version"] == 2
    # With an unchanged release EKS takes its newest AMI (VER004); the next `up` goes back to the pinned release.
    assert [(change.id, change.paths) for change in engine.up().changes.effective] == [(GROUP, ("releaseVersion",))]
    assert not engine.up().changes


def test_a_replaced_group_is_deleted_before_the_new_one_takes_its_name(cloud_engine_of: EngineOf, cloud: Cloud) -> None:
    cloud_engine_of(cloud_plan()).up()
    cloud.calls.clear()
    cloud_engine_of(_group(amiType="BOTTLEROCKET_x86_64_NVIDIA")).up()
    done = [call for call in cloud.calls if call[0] in {"Create", "Delete"} and call[1].endswith("/train")]
    assert done == [("Delete", "Tag/train"), ("Delete", GROUP), ("Create", GROUP), ("Create", "Tag/train")]


def test_the_size_that_an_autoscaler_set_is_left_alone(cloud_engine_of: EngineOf, cloud: Cloud) -> None:
    cloud_engine_of(cloud_plan()).up()
    for values in (cloud.one(GROUP).inputs, cloud.one(GROUP).outputs):
        values["scalingConfig"] = {"minSize": 0, "maxSize": 8, "desiredSize": 5}
    result = cloud_engine_of(_group(labels={"mlcluster.dev/pool": "train", "a": "b"})).up()
    assert [change.id for change in result.changes.effective] == [GROUP]
    assert cloud.one(GROUP).inputs["scalingConfig"]["desiredSize"] == 5
    assert not cloud_engine_of(_group(labels={"mlcluster.dev/pool": "train", "a": "b"})).up().changes


def test_manual_changes_are_corrected(cloud_engine_of: EngineOf, cloud: Cloud) -> None:
    engine = cloud_engine_of(cloud_plan())
    engine.up()
    for values in (cloud.one(GROUP).inputs, cloud.one(GROUP).outputs):
        values["labels"] = {"mlcluster.dev/pool": "somebody"}
    cloud.things.remove(cloud.one("Tag/train"))
    result = engine.up()
    assert {(change.id, change.op) for change in result.drift.effective} == {(GROUP, "update"), ("Tag/train", "delete")}
    assert cloud.one(GROUP).inputs["labels"] == {"mlcluster.dev/pool": "train"}
    assert "Tag/train" in cloud.ids()


@pytest.mark.parametrize(
    ("plan_id", "inputs", "said"),
    [
        (GROUP, {"minSize": 1}, "minSize: there is no such property"),
        (TEMPLATE, {"metadataOptions": {"httpToken": "required"}}, "metadataOptions.httpToken: there is no such"),
        ("Cluster/atlas", {"upgradePolicy": {"support": "STANDARD"}}, "upgradePolicy.support: there is no such"),
        ("Cluster/atlas", {"instanceRoles": [Ref("Role/atlas-nodes", "self")]}, "instanceRoles: not allowed"),
    ],
)
def test_wrong_properties_are_refused_by_their_path(
    plan_id: str, inputs: dict[str, Any], said: str, running: Running
) -> None:
    with pytest.raises(MlclusterError) as caught:
        running.engine_of(cloud_plan().with_inputs(plan_id, **inputs)).preview()
    assert plan_id in caught.value.happened
    assert said in caught.value.happened


@pytest.mark.parametrize("token", ["aws:ec2/vpcs:Vpc", "aws:s3/bucket:Bucket"])
def test_types_without_a_schema_are_rejected(token: str, running: Running) -> None:
    plan = cloud_plan()
    other = replace(plan.resources[0], type=token)
    with pytest.raises(MlclusterError, match=f"{token} is n"):
        running.engine_of(replace(plan, resources=(other, *plan.resources[1:]))).preview()


def test_a_change_that_is_not_in_the_table_reads_unknown_and_never_update(running: Running) -> None:
    with pytest.raises(MlclusterError, match="unknown what a change of warmPoolConfig"):
        running.engine_of(_group(warmPoolConfig={"minSize": 1})).preview()


def test_outputs_have_everything_that_the_platform_and_users_need(cloud_engine_of: EngineOf, cloud: Cloud) -> None:
    engine = cloud_engine_of(replace(cloud_plan(), objects=(storage_class(),)))
    engine.preview()
    engine.up()
    outputs = engine.outputs()
    volume, control_plane = cloud.one("FileSystem/data"), cloud.one(CONTROL_PLANE)
    assert outputs["clusterName"] == "atlas"
    assert control_plane.outputs["endpoint"] in outputs["kubeconfig"]
    assert outputs["values"] == {
        "Cluster/atlas": {
            "eksCluster.name": "atlas",
            "eksCluster.vpcConfig.clusterSecurityGroupId": control_plane.outputs["vpcConfig"]["clusterSecurityGroupId"],
        },
        "FileSystem/data": {"dnsName": volume.outputs["dnsName"], "id": volume.id},
    }
    exported = next(one for one in engine._console.deployment()["resources"] if one["type"] == "pulumi:pulumi:Stack")
    assert "ciphertext" in exported["outputs"]["kubeconfig"]


def test_the_wrong_account_is_refused_before_anything_is_made(cloud_engine_of: EngineOf, cloud: Cloud) -> None:
    with pytest.raises(MlclusterError, match="AWS account ID not allowed: 111122223333"):
        cloud_engine_of(cloud_plan(), account_id="999988887777").up()
    assert not cloud.things


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (cloud_plan().without("FileSystem/data", TEMPLATE), "refers to LaunchTemplate/train, which it does not hold"),
        (_group(nodeRoleArn=Ref("Role/atlas-nodes", "arms")), r"\$\{Role/atlas-nodes.arms\} has no value"),
        (_group(nodeRoleArn=Ref("Role/atlas-nodes", "arn[")), "is no output"),
        (_group(nodeRoleArn=Ref("Cluster/atlas", "id")), "a component has no id"),
        (_group(nodeRoleArn=Ref("Cluster/atlas", "eksCluster.roleAm")), "Cluster has no output roleAm"),
    ],
)
def test_references_to_nothing_are_named(plan: CloudPlan, said: str, running: Running) -> None:
    with pytest.raises(MlclusterError, match=said):
        running.engine_of(plan).up()
