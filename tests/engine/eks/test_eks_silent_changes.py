"""Changes that the aws provider accepts and AWS never makes: records in the state, and findings."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mlcluster.deploy.preview.cloud_changes import change_findings, key_findings
from mlcluster.deploy.session.stack import Stack
from mlcluster.deploy.session.workspace import Workspace
from mlcluster.engine.engine import Engine
from mlcluster.plan.model import Plan
from tests.fakes import replacement
from tests.fakes.cloud import Cloud
from tests.fakes.cloud_stack import CLUSTER, CloudPlan, EngineOf, cloud_plan
from tests.fakes.remembering import workspace_of
from tests.specs import SYSTEM

pytestmark = pytest.mark.engine
OLD, NEW = (f"arn:aws:kms:us-west-2:111122223333:key/{name}" for name in ("old", "new"))
PLANE, GROUP = "Cluster/atlas-eksCluster", "NodeGroup/train"


def with_key(key: str | None) -> CloudPlan:
    return cloud_plan().with_inputs(CLUSTER, encryptionConfigKeyArn=key)


def workspace(key: str) -> Workspace:
    return workspace_of(target={"secretsKey": key})


def found(engine: Engine, wanted: Workspace) -> list[tuple[str, str]]:
    stack = Stack("AWS", engine)
    return [(one.id, one.message) for one in change_findings(wanted, [stack], [engine.preview()])]


def test_another_key_is_accepted_and_never_applied_and_so_refused(cloud_engine_of: EngineOf, cloud: Cloud) -> None:
    cloud_engine_of(with_key(OLD)).up()
    engine = cloud_engine_of(with_key(NEW))
    for _ in range(2):
        assert engine.up().changes.counts["update"] == 1
        assert cloud.one(PLANE).outputs["encryptionConfig"]["provider"]["keyArn"] == OLD
    for findings in (
        found(engine, workspace(NEW)),
        [(one.id, one.message) for one in key_findings(workspace(NEW), Stack("AWS", engine))],
    ):
        ((identifier, message),) = findings
        assert identifier == "AWS013"
        assert f"with {OLD} and never changes to {NEW}" in message
    assert not key_findings(workspace(OLD), Stack("AWS", engine))


def test_a_key_for_a_cluster_without_one_is_applied(cloud_engine_of: EngineOf, cloud: Cloud) -> None:
    cloud_engine_of(with_key(None)).up()
    engine = cloud_engine_of(with_key(NEW))
    assert not key_findings(workspace(NEW), Stack("AWS", engine))
    assert not found(engine, workspace(NEW))
    engine.up()
    assert cloud.one(PLANE).outputs["encryptionConfig"]["provider"]["keyArn"] == NEW
    assert not engine.up().changes


def test_no_key_any_more_would_replace_the_control_plane(cloud_engine_of: EngineOf) -> None:
    cloud_engine_of(with_key(OLD)).up()
    (change,) = [one for one in cloud_engine_of(with_key(None)).preview().effective if one.id == PLANE]
    assert change.op == "replace"


def test_a_new_launch_template_alone_moves_nodes_to_the_newest_image(cloud_engine_of: EngineOf, cloud: Cloud) -> None:
    cloud_engine_of(cloud_plan()).up()
    changed = cloud_plan().with_inputs("LaunchTemplate/train", instanceType="p5en.48xlarge")
    engine = cloud_engine_of(changed)
    read = workspace_of(SYSTEM, {**SYSTEM, "name": "train"})
    read = replace(read, plan=replace(read.plan, resources=changed.resources))
    ((identifier, message),) = found(engine, read)
    assert identifier == "VER004"
    assert "pool train" in message
    assert "1.34.1-20251101" in message
    engine.up()
    assert cloud.one(GROUP).outputs["releaseVersion"] == replacement.NEWEST_RELEASE
    release = changed.with_inputs(GROUP, releaseVersion="1.34.2-20251110")
    assert not found(cloud_engine_of(release), replace(read, plan=replace(read.plan, resources=release.resources)))


def test_a_stack_never_made_has_no_key(cloud_engine_of: EngineOf, tmp_path: Path) -> None:
    assert not key_findings(workspace(NEW), Stack("AWS", cloud_engine_of(cloud_plan())))
    assert list(tmp_path.rglob("*.json")) == []


ADMIN, MEMBER = (f"arn:aws:iam::111122223333:role/{name}" for name in ("platform", "research"))
CRITICAL = {"key": "CriticalAddonsOnly", "operator": "Exists"}
TAINT = {"key": "dedicated", "value": "system", "effect": "NoSchedule"}


def emptied(*, full: bool) -> Plan:
    """Return a cluster with fields of which all or none have a value; `full` first, then not."""
    volume = {"rootVolume": {"iops": 6000, "throughputMib": 500}} if full else {}
    return workspace_of(
        {**SYSTEM, "minSize": 2, **({"taints": [TAINT]} if full else {}), **volume},
        target={
            "endpoint": {"publicCidrs": ["203.0.113.0/24"] if full else []},
            "access": {"admins": [ADMIN]},
        },
        teams=[{"name": "research", "members": {"edit": {"awsRoles": [MEMBER, *([ADMIN] if full else [])]}}}],
    ).plan


def settings(cloud: Cloud) -> dict[str, Any]:
    """Return the values of these fields in the account."""
    volume = cloud.one("LaunchTemplate/system").outputs["blockDeviceMappings"][0]["ebs"]
    (admin,) = (one for one in cloud.things if one.inputs.get("principalArn") == ADMIN and "type" in one.inputs)
    return {
        "cidrs": cloud.one(PLANE).outputs["vpcConfig"]["publicAccessCidrs"],
        "groups": admin.outputs["kubernetesGroups"],
        "driver": json.loads(cloud.one("Addon/aws-ebs-csi-driver").outputs["configurationValues"]),
        "volume": (volume["iops"], volume["throughput"]),
    }


def test_a_field_that_is_emptied_goes_back_to_the_default(cloud_engine_of: EngineOf, cloud: Cloud) -> None:
    cloud_engine_of(emptied(full=True)).up()
    assert settings(cloud) == {
        "cidrs": ["203.0.113.0/24"],
        "groups": ["mlcluster:research:edit"],
        "driver": {"controller": {"tolerations": [CRITICAL, {**TAINT, "operator": "Equal"}]}},
        "volume": (6000, 500),
    }
    engine = cloud_engine_of(emptied(full=False))
    engine.up()
    assert settings(cloud) == {"cidrs": ["0.0.0.0/0"], "groups": [], "driver": {}, "volume": (3000, 125)}
    again = engine.up().changes.effective
    assert [(one.id, one.paths) for one in again] == [("NodeGroup/system", ("releaseVersion",))]  # VER004


def test_the_simulated_provider_keeps_the_value_of_a_removed_input(cloud_engine_of: EngineOf, cloud: Cloud) -> None:
    """As the aws provider does: no difference, and no update."""
    full = cloud_plan().with_inputs("Addon/vpc-cni", configurationValues='{"a": 1}')
    cloud_engine_of(full).up()
    engine = cloud_engine_of(cloud_plan().with_inputs(CLUSTER, publicAccessCidrs=None))
    assert not [change for change in engine.preview().effective if change.id in {PLANE, "Addon/vpc-cni"}]
    engine.up()
    assert cloud.one(PLANE).outputs["vpcConfig"]["publicAccessCidrs"] == ["203.0.113.0/24"]
    assert cloud.one("Addon/vpc-cni").outputs["configurationValues"] == '{"a": 1}'
    assert not cloud.called("Update")
