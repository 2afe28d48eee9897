"""Creation and deletion of an EKS cluster: the real engine on simulated aws and eks plugins."""

from dataclasses import replace
from pathlib import Path

import pytest

from mlcluster.engine.identity import Identity
from mlcluster.errors import MlclusterError
from tests.fakes.cloud import Cloud
from tests.fakes.cloud_stack import CLUSTER, EngineOf, cloud_engine, cloud_plan

pytestmark = pytest.mark.engine
GROUP, TEMPLATE, CONTROL_PLANE = "NodeGroup/train", "LaunchTemplate/train", "Cluster/atlas-eksCluster"
VOLUME = "FileSystem/data"


def _made(cloud: Cloud) -> list[str]:
    return cloud.called("Create")


def test_preview_shows_the_changes_of_up_and_a_second_up_changes_nothing(
    cloud_engine_of: EngineOf, cloud: Cloud
) -> None:
    engine = cloud_engine_of(cloud_plan())
    shown = engine.preview()
    assert not cloud.things
    assert shown.counts == {"create": len(cloud_plan().resources) + 2}  # the component makes two more
    assert engine.up().changes == shown
    again = engine.up()
    assert not again.changes
    assert not again.drift
    assert len(_made(cloud)) == len(cloud.things)


def test_every_resource_is_created_after_its_needs(cloud_engine_of: EngineOf, cloud: Cloud) -> None:
    cloud_engine_of(cloud_plan()).up()
    made = _made(cloud)
    for first, second in [
        ("Vpc/atlas", "Subnet/private-us-west-2a"),
        ("Role/atlas-cluster", CONTROL_PLANE),
        (CONTROL_PLANE, "Addon/vpc-cni"),
        (CONTROL_PLANE, TEMPLATE),
        ("Addon/vpc-cni", GROUP),
        ("RolePolicyAttachment/nodes-worker", GROUP),
        (GROUP, "Tag/train"),
    ]:
        assert made.index(first) < made.index(second)
    plane = cloud.one(CONTROL_PLANE)
    assert plane.inputs["roleArn"] == cloud.one("Role/atlas-cluster").outputs["arn"]
    assert cloud.one(TEMPLATE).inputs["vpcSecurityGroupIds"] == [plane.outputs["vpcConfig"]["clusterSecurityGroupId"]]
    group = cloud.one(GROUP).outputs["resources"][0]["autoscalingGroups"][0]["name"]
    assert cloud.one("Tag/train").inputs["autoscalingGroupName"] == group


def test_long_operations_have_their_timeouts(cloud_engine_of: EngineOf) -> None:
    engine = cloud_engine_of(cloud_plan())
    engine.up()
    minutes = {
        item["urn"].split("::", 3)[-1]: item["customTimeouts"]["create"] / 60
        for item in engine._console.deployment()["resources"]
        if "customTimeouts" in item
    }
    assert minutes == {CONTROL_PLANE: 40, GROUP: 60, "Addon/vpc-cni": 40}


@pytest.mark.parametrize("failing", [CONTROL_PLANE, GROUP])
def test_up_continues_after_a_failure_in_the_middle(failing: str, cloud_engine_of: EngineOf, cloud: Cloud) -> None:
    engine = cloud_engine_of(cloud_plan())
    cloud.fail_once[failing] = "NodeCreationFailure: Instances failed to join the kubernetes cluster"
    with pytest.raises(MlclusterError) as caught:
        engine.up()
    assert f"{failing}: " in caught.value.happened
    assert "Instances failed to join" in caught.value.happened
    assert failing not in cloud.ids()
    left = set(cloud.ids())
    cloud.calls.clear()
    engine.up()
    assert failing in cloud.ids()
    assert not left & set(_made(cloud))
    assert not engine.up().changes


def test_destroy_deletes_in_order_and_keeps_retained_resources(cloud_engine_of: EngineOf, cloud: Cloud) -> None:
    engine = cloud_engine_of(cloud_plan())
    engine.up()
    changes = engine.destroy()
    assert cloud.ids() == [VOLUME]
    assert [change.id for change in changes.items if change.retained] == [VOLUME]
    assert engine.is_empty()
    gone = cloud.deleted
    for first, second in [
        ("Tag/train", GROUP),
        (GROUP, "Addon/vpc-cni"),
        (GROUP, "RolePolicyAttachment/nodes-worker"),
        (GROUP, TEMPLATE),
        (GROUP, CONTROL_PLANE),
        (CONTROL_PLANE, "Subnet/private-us-west-2a"),
        (CONTROL_PLANE, "Role/atlas-cluster"),
        ("Subnet/private-us-west-2b", "Vpc/atlas"),
    ]:
        assert gone.index(first) < gone.index(second)


def test_destroy_continues_after_a_failure_in_the_middle(cloud_engine_of: EngineOf, cloud: Cloud) -> None:
    engine = cloud_engine_of(cloud_plan())
    engine.up()
    cloud.fail_once[CONTROL_PLANE] = "ServerException: try again"
    with pytest.raises(MlclusterError, match="ServerException: try again"):
        engine.destroy()
    assert GROUP not in cloud.ids()
    engine.destroy()
    assert cloud.ids() == [VOLUME]
    assert len(cloud.deleted) == len(set(cloud.deleted))


def test_a_pool_that_leaves_the_plan_is_known_by_its_tag(cloud_engine_of: EngineOf) -> None:
    cloud_engine_of(cloud_plan()).up()
    (one,) = [
        change.identity
        for change in cloud_engine_of(cloud_plan().without(GROUP, "Tag/train")).preview().effective
        if change.id == GROUP
    ]
    assert one == Identity("NodeGroup", "train", "", "train")


def test_a_retained_volume_that_leaves_the_plan_stays_in_the_account(cloud_engine_of: EngineOf, cloud: Cloud) -> None:
    cloud_engine_of(cloud_plan()).up()
    result = cloud_engine_of(cloud_plan().without(VOLUME)).up()
    assert [(change.id, change.op, change.retained) for change in result.changes.effective] == [
        (VOLUME, "delete", True)
    ]
    assert VOLUME in cloud.ids()


def test_a_protected_control_plane_is_not_deleted(cloud_engine_of: EngineOf, cloud: Cloud) -> None:
    engine = cloud_engine_of(cloud_plan().with_inputs(CLUSTER, deletionProtection=True))
    engine.up()
    with pytest.raises(MlclusterError, match="deletion protection"):
        engine.destroy()
    assert CONTROL_PLANE in cloud.ids()
    cloud_engine_of(cloud_plan().with_inputs(CLUSTER, deletionProtection=False)).up()
    engine.destroy()
    assert cloud.ids() == [VOLUME]


def test_plugins_are_attached_from_the_callers_environment(
    pulumi: Path,
    aws_port: int,
    eks_port: int,
    kubernetes_port: int,
    cloud: Cloud,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    attached = f"aws:{aws_port},eks:{eks_port},kubernetes:{kubernetes_port}"
    monkeypatch.setenv("PULUMI_DEBUG_PROVIDERS", attached)
    assert cloud_engine(tmp_path / "atlas", {}, cloud_plan(), pulumi).preview()
    assert cloud.cancelled.is_set()


def test_without_plugins_the_error_names_those_to_install(pulumi: Path, tmp_path: Path) -> None:
    with pytest.raises(MlclusterError, match=r"no plugin for aws v7\.51\.1") as caught:
        cloud_engine(tmp_path / "atlas", {}, cloud_plan(), pulumi).preview()
    assert "`mlcluster plugins install`" in caught.value.hint


def test_a_missing_need_fails_as_it_would_in_aws(cloud_engine_of: EngineOf, cloud: Cloud) -> None:
    plan = cloud_plan()
    addon = next(one for one in plan.resources if one.id == "Addon/vpc-cni")
    forgetful = replace(addon, needs=())
    engine = cloud_engine_of(replace(plan, resources=(forgetful, *(one for one in plan.resources if one is not addon))))
    with pytest.raises(MlclusterError, match="Addon/vpc-cni: ResourceNotFoundException: no Cluster found for atlas"):
        engine.up()
