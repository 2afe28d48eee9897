"""Headroom: pods that hold nodes free."""

from typing import Any

import pytest

from mlcluster.plan.eks.headroom import (
    NAMESPACE,
    headroom_objects,
    headroom_pods,
)
from mlcluster.plan.model import Manifest
from mlcluster.plan.names import TEAM
from mlcluster.plan.overhead import lands_on
from mlcluster.plan.taints import toleration_manifests
from mlcluster.quantities import parse
from tests.eks_contexts import eks_context
from tests.specs import SYSTEM, TRAIN, Data, planned_unchecked

pytestmark = pytest.mark.unit

EKS: Data = {"kind": "eks", "region": "us-west-2", "kubernetesVersion": "1.35"}
EXPENDABLE = -10
"""The Cluster Autoscaler's default for expendable-pods-priority-cutoff."""


def warm(pool: Data, nodes: int = 2, **more: Any) -> Data:
    return {**pool, "warm": {"nodes": nodes}, **more}


def manifests(*pools: Data, **target: Any) -> dict[str, Manifest]:
    return {entry.id: entry.manifest for entry in headroom_objects(eks_context(*pools, **target))}


def pod_of(pool: Data) -> Manifest:
    spec: Manifest = manifests(pool)[f"Deployment/{NAMESPACE}/headroom-{pool['name']}"]["spec"]["template"]["spec"]
    return spec


def requested(pool: Data) -> dict[str, int]:
    (container,) = pod_of(pool)["containers"]
    return {name: parse(name, text) for name, text in container["resources"]["requests"].items()}


def test_headroom_has_a_priority_below_every_pod_and_above_the_cutoff_of_the_autoscaler() -> None:
    made = manifests(warm(TRAIN))["PriorityClass/mlcluster-headroom"]
    assert EXPENDABLE < made["value"] < 0
    assert (made["globalDefault"], made["preemptionPolicy"]) == (False, "Never")


def test_one_pod_for_each_node() -> None:
    made = manifests(SYSTEM, warm(TRAIN, 3))
    assert set(made) == {
        f"Namespace/{NAMESPACE}",
        "PriorityClass/mlcluster-headroom",
        f"Deployment/{NAMESPACE}/headroom-train",
    }
    spec = made[f"Deployment/{NAMESPACE}/headroom-train"]["spec"]
    assert spec["replicas"] == 3
    assert spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()


@pytest.mark.parametrize("pool", [SYSTEM, TRAIN], ids=lambda pool: pool["name"])
def test_a_second_one_does_not_fit_on_the_node_and_daemon_sets_do(pool: Data) -> None:
    (resolved,) = eks_context(pool).pools
    for name in ("cpu", "memory"):
        assert resolved.allocatable[name] < 2 * requested(warm(pool))[name]
        assert requested(warm(pool))[name] <= resolved.allocatable[name] * 3 / 4


def test_headroom_excludes_reserved_resources() -> None:
    (resolved,) = eks_context(SYSTEM).pools
    half = {"cpu": "4", "memory": "16Gi"}
    assert requested(warm(SYSTEM, reserved=half))["cpu"] == (resolved.allocatable["cpu"] - 4000) * 75 // 100


@pytest.mark.parametrize(
    ("gpu", "resource", "amount"),
    [({}, "nvidia.com/gpu", 8), ({"timeSlicing": {"replicas": 4}}, "nvidia.com/gpu", 1)],
    ids=["whole", "one slice, as the plugin gives no pod more"],
)
def test_headroom_requests_the_accelerators(gpu: Data, resource: str, amount: int) -> None:
    pool = warm(TRAIN, gpu=gpu)
    (container,) = pod_of(pool)["containers"]
    assert requested(pool)[resource] == amount
    assert container["resources"]["limits"] == {resource: str(amount)}


def test_headroom_runs_only_on_the_nodes_of_its_pool() -> None:
    taint = {"key": "dedicated", "value": "training", "effect": "NoSchedule"}
    here = eks_context(SYSTEM, warm(TRAIN, taints=[taint]), {**TRAIN, "name": "other"})
    (pod,) = headroom_pods(here)
    assert [pool.name for pool in here.pools if lands_on(pod, pool)] == ["train"]
    assert pod_of(warm(TRAIN, taints=[taint]))["nodeSelector"] == {"mlcluster.dev/pool": "train"}
    assert toleration_manifests(pod.tolerations) == pod_of(warm(TRAIN, taints=[taint]))["tolerations"]


def test_the_pod_of_the_plan_has_the_requests_of_the_object() -> None:
    (pod,) = headroom_pods(eks_context(warm(TRAIN)))
    assert pod.requests == {**requested(warm(TRAIN)), "pods": 1}


def test_no_policy_of_teams_applies_to_headroom() -> None:
    assert TEAM not in manifests(warm(TRAIN))[f"Namespace/{NAMESPACE}"]["metadata"]["labels"]


def test_nothing_waits_for_headroom_pods() -> None:
    deployment = manifests(warm(TRAIN))[f"Deployment/{NAMESPACE}/headroom-train"]
    assert deployment["metadata"]["annotations"] == {"pulumi.com/skipAwait": "true"}
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}


def test_it_fits_the_restricted_pod_security_standard() -> None:
    spec = pod_of(warm(TRAIN))
    (container,) = spec["containers"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert spec["automountServiceAccountToken"] is False


def test_its_image_is_pinned() -> None:
    (container,) = pod_of(warm(TRAIN))["containers"]
    assert container["image"].partition(":")[2].count(".") == 2


@pytest.mark.parametrize("autoscaler", ["karpenter", "clusterAutoscaler"])
def test_both_autoscalers_get_it(autoscaler: str) -> None:
    assert len(manifests(SYSTEM, warm(TRAIN), autoscaler=autoscaler)) == 3


def test_there_is_no_headroom_without_an_autoscaler_or_without_a_request() -> None:
    assert manifests(SYSTEM, warm(TRAIN), autoscaler="none") == {}
    assert headroom_pods(eks_context(warm(TRAIN), autoscaler="none")) == ()
    assert manifests(SYSTEM, TRAIN) == {}


def test_its_image_comes_from_the_mirror() -> None:
    plan = planned_unchecked(SYSTEM, warm(TRAIN), target=EKS, components={"registry": "m.example.com/x"})
    (found,) = (entry for entry in plan.objects if entry.id == f"Deployment/{NAMESPACE}/headroom-{TRAIN['name']}")
    (container,) = found.manifest["spec"]["template"]["spec"]["containers"]
    assert container["image"].startswith("m.example.com/x/pause:")
