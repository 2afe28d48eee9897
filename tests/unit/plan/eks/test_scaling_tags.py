"""Tags of Auto Scaling groups, from which the Cluster Autoscaler learns the nodes of an empty pool."""

from typing import Any

import pytest

from mlcluster.plan.eks.scaling_tags import TAG, scaling_tags, scaling_tags_resources
from mlcluster.plan.values import Ref
from tests.eks_contexts import by_id, eks_context
from tests.fakes.sdk_types import problems
from tests.specs import SYSTEM, TRAIN, Data

pytestmark = pytest.mark.unit

TEMPLATE = "k8s.io/cluster-autoscaler/node-template"
OPTIONS = f"{TEMPLATE}/autoscaling-options"
MOST_KEY, MOST_VALUE, MOST_TAGS = 128, 256, 50
"""Limits of tags of EC2 Auto Scaling (quotas page)."""

EFA_TRAIN: Data = {
    **TRAIN,
    "labels": {"ml-purpose": "training"},
    "taints": [{"key": "dedicated", "value": "training", "effect": "NoSchedule"}],
    "startupTaints": [{"key": "example.com/checking", "effect": "NoSchedule"}],
    "network": {"efa": True},
}


def tags_of(pool: Data, **target: Any) -> dict[str, str]:
    here = eks_context(pool, **target)
    return scaling_tags(here, here.pools[0])


def test_a_training_pool_in_full() -> None:
    assert tags_of(EFA_TRAIN) == {
        "k8s.io/cluster-autoscaler/enabled": "true",
        "k8s.io/cluster-autoscaler/atlas": "owned",
        f"{TEMPLATE}/label/mlcluster.dev/pool": "train",
        f"{TEMPLATE}/label/mlcluster.dev/efa": "true",
        f"{TEMPLATE}/label/k8s.amazonaws.com/accelerator": "nvidia-h100",
        f"{TEMPLATE}/label/ml-purpose": "training",
        f"{TEMPLATE}/taint/dedicated": "training:NoSchedule",
        f"{TEMPLATE}/taint/nvidia.com/gpu": "present:NoSchedule",
        f"{TEMPLATE}/resources/cpu": "191450m",
        f"{TEMPLATE}/resources/memory": "1926504Mi",
        f"{TEMPLATE}/resources/ephemeral-storage": "25569654Mi",
        f"{TEMPLATE}/resources/hugepages-2Mi": "10256Mi",
        f"{TEMPLATE}/resources/nvidia.com/gpu": "8",
        f"{TEMPLATE}/resources/vpc.amazonaws.com/efa": "32",
        f"{OPTIONS}/scaledowngpuutilizationthreshold": "0.001",
    }


def test_amounts_are_quantities_with_their_units() -> None:
    tags = tags_of({**SYSTEM, "rootVolume": {"size": "200Gi"}})
    resources = {key.rpartition("resources/")[2]: value for key, value in tags.items() if "/resources/" in key}
    assert set(resources) == {"cpu", "memory", "ephemeral-storage"}
    assert resources["cpu"].endswith("m")
    assert resources["memory"].endswith("i")
    assert resources["ephemeral-storage"].endswith("i")


@pytest.mark.parametrize(
    ("gpu", "family", "resource", "amount"),
    [
        ({}, "al2023", "nvidia.com/gpu", "8"),
        ({"mig": "all-1g.5gb"}, "al2023", "nvidia.com/mig-1g.5gb", "56"),
        ({"timeSlicing": {"replicas": 4}}, "al2023", "nvidia.com/gpu", "32"),
    ],
)
def test_resource_tags_of_requestable_resources(gpu: Data, family: str, resource: str, amount: str) -> None:
    pool = {"name": "shared", "instanceType": "p4d.24xlarge", "maxSize": 2, "gpu": gpu, "ami": {"family": family}}
    assert tags_of(pool)[f"{TEMPLATE}/resources/{resource}"] == amount


def test_a_taint_without_a_value_keeps_its_colon() -> None:
    pool = {**SYSTEM, "taints": [{"key": "quiet", "effect": "NoExecute"}]}
    assert tags_of(pool)[f"{TEMPLATE}/taint/quiet"] == ":NoExecute"


def test_of_two_taints_with_one_key_the_harder_is_tagged() -> None:
    effects = ("NoSchedule", "PreferNoSchedule", "NoExecute")
    pool = {**SYSTEM, "taints": [{"key": "quiet", "value": "a", "effect": effect} for effect in effects]}
    assert tags_of(pool)[f"{TEMPLATE}/taint/quiet"] == "a:NoSchedule"


def test_nodes_without_accelerators_go_by_the_autoscalers_own_rules() -> None:
    assert not [key for key in tags_of(SYSTEM) if key.startswith(OPTIONS)]


def test_for_accelerators_unknown_to_the_autoscaler_cpu_and_memory_decide() -> None:
    tags = tags_of({"name": "mig", "instanceType": "p4d.24xlarge", "maxSize": 2, "gpu": {"mig": "all-1g.5gb"}})
    assert {key: value for key, value in tags.items() if key.startswith(OPTIONS)} == {
        f"{OPTIONS}/scaledownutilizationthreshold": "0.001",
        f"{OPTIONS}/ignoredaemonsetsutilization": "true",
    }


@pytest.mark.parametrize(("kind", "kept"), [("onDemand", None), ("reservation", "1h"), ("capacityBlock", "24h")])
def test_nodes_of_reserved_capacity_have_a_longer_scale_down_delay(kind: str, kept: str | None) -> None:
    given = {} if kind == "onDemand" else {"reservationId": "cr-0abc"}
    assert tags_of({**TRAIN, "capacity": {"type": kind, **given}}).get(f"{OPTIONS}/scaledownunneededtime") == kept


def test_one_resource_for_each_tag_of_a_pool_that_can_grow() -> None:
    fixed = {**SYSTEM, "name": "fixed", "minSize": 2, "maxSize": 2}
    here = eks_context(SYSTEM, fixed, EFA_TRAIN)
    made = by_id(scaling_tags_resources(here))
    assert len(made) == sum(len(scaling_tags(here, pool)) for pool in here.pools if pool.name != "fixed")
    entry = made["Tag/train-taint/dedicated"]
    assert entry.type == TAG
    assert entry.inputs == {
        "autoscalingGroupName": Ref("NodeGroup/train", "resources[0].autoscalingGroups[0].name"),
        "tag": {"key": f"{TEMPLATE}/taint/dedicated", "value": "training:NoSchedule", "propagateAtLaunch": False},
    }
    assert (entry.needs, entry.spec_path) == (("NodeGroup/train",), ("nodePools", 2))


def test_inputs_are_the_sdks_and_within_awss_limits() -> None:
    here = eks_context(EFA_TRAIN)
    made = scaling_tags_resources(here)
    assert len(made) < MOST_TAGS
    for entry in made:
        assert problems({**entry.inputs, "autoscalingGroupName": "eks-train"}, entry.type) == []
        assert len(entry.inputs["tag"]["key"]) <= MOST_KEY
        assert len(entry.inputs["tag"]["value"]) <= MOST_VALUE


@pytest.mark.parametrize("autoscaler", ["karpenter", "none"])
def test_nothing_without_the_cluster_autoscaler(autoscaler: str) -> None:
    assert scaling_tags_resources(eks_context(SYSTEM, TRAIN, autoscaler=autoscaler)) == []
