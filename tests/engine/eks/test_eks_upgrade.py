"""Upgrade to a newer Kubernetes version: updated resources and their order."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from mlcluster.plan import build
from mlcluster.plan.model import Plan
from mlcluster.spec.load import parse
from tests.fakes.cloud import Cloud
from tests.fakes.cloud_stack import EngineOf

pytestmark = pytest.mark.engine
EXAMPLE = Path(__file__).parents[3] / "examples" / "eks-minimal.yaml"


def _plan(version: str) -> Plan:
    data: dict[str, Any] = yaml.safe_load(EXAMPLE.read_text("utf-8"))
    data["target"]["kubernetesVersion"] = version
    return build(parse(json.dumps(data).encode(), "cluster.yaml").spec)


def test_an_upgrade_changes_control_plane_then_node_addons_then_nodes_then_the_rest(
    cloud_engine_of: EngineOf, cloud: Cloud
) -> None:
    before, after = _plan("1.34"), _plan("1.35")
    cloud_engine_of(before).up()
    cloud.calls.clear()
    engine = cloud_engine_of(after)
    previewed = {change.id: change.op for change in engine.preview().effective}
    changed = {change.id: change.op for change in engine.up().changes.effective}
    assert previewed == changed
    assert set(changed.values()) == {"update"}
    order = cloud.called("Update")
    control_plane = order.index("Cluster/sprout-eksCluster")
    groups = [order.index("NodeGroup/system"), order.index("NodeGroup/gpu")]
    first = [order.index(name) for name in ("Addon/vpc-cni", "Addon/kube-proxy") if name in order]
    last = [order.index(name) for name in ("Addon/coredns", "Addon/aws-ebs-csi-driver") if name in order]
    assert first
    assert control_plane < min(first) <= max(first) < min(groups)
    assert all(groups[0] < one for one in last)  # where they run; a GPU group may take hours
    assert engine.outputs()["kubernetesVersion"] == "1.35"
    assert cloud.called("Delete") == []


def test_the_autoscalers_image_follows_the_control_plane() -> None:
    tags = {}
    for version in ("1.34", "1.35"):
        (release,) = [release for release in _plan(version).releases if release.name == "cluster-autoscaler"]
        tags[version] = release.values["image"]["tag"]
    assert tags["1.34"].startswith("v1.34.")
    assert tags["1.35"].startswith("v1.35.")
