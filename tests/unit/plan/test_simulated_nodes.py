"""The nodes of the `local` target."""

from typing import Any

import pytest

from mlcluster.plan import names
from tests.specs import EXISTING, SHAPE, SHARED, SYSTEM, TRAIN, Data, planned

pytestmark = pytest.mark.unit

ZONES: Data = {"kind": "local", "zones": ["a", "b", "c"]}


def nodes(*pools: Data, target: Data = ZONES) -> dict[str, Any]:
    """Return Node objects by name."""
    return {entry.inputs["metadata"]["name"]: entry.inputs for entry in planned(*pools, target=target).resources}


def label(found: dict[str, Any], key: str) -> list[str | None]:
    return [node["metadata"]["labels"].get(key) for node in found.values()]


def test_as_many_as_the_pools_at_their_maximum() -> None:
    plan = planned(SYSTEM, TRAIN, SHARED)
    assert len(plan.resources) == 4 + 8 + 2
    assert [entry.id for entry in plan.resources][:5] == [*(f"Node/system-{i}" for i in range(4)), "Node/train-0"]
    assert {entry.type for entry in plan.resources} == {"kubernetes:core/v1:Node"}
    assert plan.resources[4].spec_path == ("nodePools", 1)


def test_only_the_lab_simulates() -> None:
    assert planned(SYSTEM, target=EXISTING).resources == ()


def test_nodes_are_spread_over_the_zones() -> None:
    assert label(nodes(SYSTEM), "topology.kubernetes.io/zone") == ["a", "b", "c", "a"]


@pytest.mark.parametrize("network", [{"efa": True}, {"placementGroup": "cluster"}])
def test_nodes_of_a_placement_group_are_in_one_zone(network: Data) -> None:
    assert set(label(nodes({**TRAIN, "network": network}), "topology.kubernetes.io/zone")) == {"a"}


def test_racks_and_blocks() -> None:
    found = nodes({**SYSTEM, "maxSize": 20})
    assert label(found, f"{names.DOMAIN}/rack")[3:5] == ["system-r0", "system-r1"]
    assert label(found, f"{names.DOMAIN}/block")[15:17] == ["system-b0", "system-b1"]


def test_a_simulated_node_follows_the_plan_of_its_pool() -> None:
    taint = {"key": "dedicated", "value": "training", "effect": "NoSchedule"}
    node = nodes({**TRAIN, "labels": {"ml": "yes"}, "taints": [taint]})["train-7"]
    labels = node["metadata"]["labels"]
    assert labels["type"] == "kwok"
    assert labels["ml"] == "yes"
    assert labels[names.POOL] == "train"
    assert labels[names.MANAGED_BY] == "mlcluster"
    assert labels[names.CLUSTER] == "atlas"
    assert labels["kubernetes.io/hostname"] == "train-7"
    assert labels["kubernetes.io/arch"] == "amd64"
    assert labels["node.kubernetes.io/instance-type"] == "p5.48xlarge"
    assert node["spec"]["taints"] == [taint, {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    assert node["status"]["allocatable"] == node["status"]["capacity"]
    assert node["status"]["allocatable"] == {
        "cpu": "191450m",
        "memory": "1938410Mi",
        "ephemeral-storage": "25569654Mi",
        "pods": "100",
        "nvidia.com/gpu": "8",
    }


def test_gpu_labels_are_those_of_feature_discovery() -> None:
    (node, *_) = nodes(SHARED).values()
    labels = node["metadata"]["labels"]
    assert labels["nvidia.com/gpu.present"] == "true"
    assert labels["nvidia.com/gpu.count"] == "8"
    assert labels["nvidia.com/gpu.memory"] == "40960"
    assert "A100" in labels["nvidia.com/gpu.product"]


def gpu_labels(gpu: Data, **rest: Any) -> dict[str, str]:
    pool = {"name": "shared", "instanceType": "p4d.24xlarge", "maxSize": 1, "gpu": gpu}
    (node,) = (entry.inputs for entry in planned(pool, **rest).resources)
    labels: dict[str, str] = node["metadata"]["labels"]
    return labels


def test_mig_instances_are_distinguished_by_size() -> None:
    labels = gpu_labels({"mig": "all-balanced"})
    assert (labels["nvidia.com/mig.config"], labels["nvidia.com/mig.config.state"]) == ("all-balanced", "success")
    assert (labels["nvidia.com/mig.strategy"], labels["nvidia.com/gpu.count"]) == ("mixed", "8")
    assert labels["nvidia.com/mig-1g.5gb.count"] == "16"
    assert labels["nvidia.com/mig-3g.20gb.count"] == "8"
    assert labels["nvidia.com/mig-3g.20gb.product"].endswith("-MIG-3g.20gb")


def test_mig_instances_are_advertised_as_gpus_with_the_single_strategy() -> None:
    labels = gpu_labels({"mig": "all-1g.5gb"}, components={"gpuOperator": {"migStrategy": "single"}})
    assert (labels["nvidia.com/mig.config"], labels["nvidia.com/mig.config.state"]) == ("all-1g.5gb", "success")
    assert (labels["nvidia.com/mig.strategy"], labels["nvidia.com/gpu.count"]) == ("single", "56")
    assert not [key for key in labels if key.startswith("nvidia.com/mig-")]


@pytest.mark.parametrize(
    ("gpu", "strategy"), [({"timeSlicing": {"replicas": 4}}, "time-slicing"), ({"mps": {"replicas": 4}}, "mps")]
)
def test_shared_gpus_have_a_label(gpu: Data, strategy: str) -> None:
    labels = gpu_labels(gpu)
    assert (labels["nvidia.com/gpu.replicas"], labels["nvidia.com/gpu.sharing-strategy"]) == ("4", strategy)
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-A100-SXM4-40GB-SHARED"
    assert ("nvidia.com/mps.capable" in labels) == (strategy == "mps")


def test_whole_gpus_are_not_shared() -> None:
    labels = gpu_labels({})
    assert (labels["nvidia.com/gpu.replicas"], labels["nvidia.com/gpu.sharing-strategy"]) == ("1", "none")
    assert labels["nvidia.com/mig.capable"] == "true"
    assert "nvidia.com/mig.config" not in labels
    assert not [key for key in nodes(SYSTEM)["system-0"]["metadata"]["labels"] if key.startswith("nvidia.com")]


def test_an_own_shape_claims_no_instance_type() -> None:
    node = nodes({**SHAPE, "nodeShape": {**SHAPE["nodeShape"], "gpu": {"model": "mi300x", "count": 4}}})["own-0"]
    assert "node.kubernetes.io/instance-type" not in node["metadata"]["labels"]
    assert "nvidia.com/gpu.product" not in node["metadata"]["labels"]
    assert node["metadata"]["labels"]["kubernetes.io/arch"] == "amd64"


def test_reserved_stays_allocatable() -> None:
    """Unknown daemon sets on the node need the reserved resources."""
    node = nodes({**SHAPE, "reserved": {"cpu": "1"}})["own-0"]
    assert node["status"]["allocatable"]["cpu"] == "10"


def test_a_node_without_taints_has_no_spec() -> None:
    assert "spec" not in nodes(SYSTEM)["system-0"]
