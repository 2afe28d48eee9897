"""Pools with their instance facts resolved."""

from collections.abc import Mapping
from typing import Any

import pytest

from mlcluster.catalog.instances import instance_type
from mlcluster.plan.model import Pool, Taint
from mlcluster.plan.names import POOL
from mlcluster.quantities import canonical
from mlcluster.spec.eks_nodes import default_disk_mib
from tests.specs import EXISTING, SHAPE, SHARED, SYSTEM, TRAIN, Data, planned, planned_unchecked, pool_of

pytestmark = pytest.mark.unit

DEDICATED: Data = {"key": "dedicated", "value": "training", "effect": "NoSchedule"}
ACCELERATOR = Taint("nvidia.com/gpu", "present", "NoSchedule")


def eks(region: str) -> Data:
    return {"kind": "eks", "region": region}


def test_facts_of_an_instance_type() -> None:
    pool, facts = pool_of(SYSTEM), instance_type("m7i.2xlarge")
    assert pool.allocatable == pool.usable
    assert pool.allocatable == {
        "cpu": facts.allocatable_cpu_milli,
        "memory": facts.allocatable_memory_mib,
        "ephemeral-storage": default_disk_mib(facts),
        "pods": facts.allocatable_pods,
    }
    assert (pool.arch, pool.accelerator, pool.taints) == ("amd64", None, ())
    assert pool.labels == pool.selector == {POOL: "system"}
    assert pool.spec_path == ("nodePools", 0)


@pytest.mark.parametrize("target", ["local", "eks"])
def test_managed_gpu_pools_have_the_accelerator_taint_last(target: str) -> None:
    data = {**TRAIN, "taints": [DEDICATED]}
    plan = planned(data) if target == "local" else planned_unchecked(data, target=eks("us-west-2"))
    assert plan.pools[0].taints == (Taint("dedicated", "training", "NoSchedule"), ACCELERATOR)


def test_the_accelerator_taint_can_be_left_off() -> None:
    assert pool_of({**TRAIN, "gpu": {"taint": False}}).taints == ()


def test_cpu_pools_have_no_accelerator_taint() -> None:
    assert pool_of({**SYSTEM, "taints": [DEDICATED]}).taints == (Taint("dedicated", "training", "NoSchedule"),)


def test_existing_nodes_get_no_managed_taint() -> None:
    assert pool_of(TRAIN, target=EXISTING).taints == ()
    listed = {**TRAIN, "taints": [{"key": "nvidia.com/gpu", "effect": "NoExecute"}]}
    assert pool_of(listed, target=EXISTING).taints == (Taint("nvidia.com/gpu", "", "NoExecute"),)


def test_existing_pools_are_found_by_their_selector() -> None:
    selector = {"example.com/pool": "big", "example.com/zone": "a"}
    pool = pool_of({**TRAIN, "selector": selector, "labels": {"ml": "yes", "at": "home"}}, target=EXISTING)
    assert pool.selector == selector
    assert list(pool.labels) == [*selector, "at", "ml"]


def test_whole_gpus() -> None:
    device = pool_of(TRAIN).accelerator
    assert device is not None
    assert (device.model, device.gpus, device.memory_mib) == ("h100", 8, 81_920)
    assert (device.resource, device.slices, device.sharing) == ("nvidia.com/gpu", 8, "whole")


def test_mig_instances_replace_gpus() -> None:
    pool = pool_of(SHARED)
    assert pool.accelerator is not None
    assert (pool.accelerator.gpus, pool.accelerator.slices, pool.accelerator.sharing) == (8, 56, "mig")
    assert pool.usable["nvidia.com/mig-1g.5gb"] == 56
    assert "nvidia.com/gpu" not in pool.usable


def test_time_slices_are_gpus_that_are_counted_several_times() -> None:
    pool = pool_of({**TRAIN, "gpu": {"timeSlicing": {"replicas": 4}}})
    assert pool.accelerator is not None
    assert (pool.accelerator.gpus, pool.accelerator.slices, pool.accelerator.sharing) == (8, 32, "timeSlicing")
    assert pool.usable["nvidia.com/gpu"] == 32


def test_fast_networks_are_resources() -> None:
    pool = pool_of({**TRAIN, "network": {"efa": True, "rdma": {"rdma/hca": 8}, "placementGroup": "cluster"}})
    assert list(pool.allocatable)[4:] == ["nvidia.com/gpu", "rdma/hca", "vpc.amazonaws.com/efa"]
    assert pool.allocatable["rdma/hca"] == 8
    assert pool.allocatable["vpc.amazonaws.com/efa"] == instance_type("p5.48xlarge").efa == 32
    assert pool.placement_group == "cluster"
    assert "vpc.amazonaws.com/efa" not in pool_of(TRAIN).allocatable


def test_own_shape() -> None:
    shape = {"cpu": "190500m", "memory": "1900Gi", "ephemeralStorage": "100Gi", "pods": 60}
    gpu = {"model": "mi300x", "count": 4}
    pool = pool_of({**SHAPE, "nodeShape": {**shape, "gpu": gpu}})
    assert pool.allocatable == {
        "cpu": 190_500,
        "memory": 1900 * 1024,
        "ephemeral-storage": 100 * 1024,
        "pods": 60,
        "nvidia.com/gpu": 4,
    }
    assert pool.accelerator is not None
    assert (pool.accelerator.model, pool.accelerator.memory_mib) == ("mi300x", None)
    assert (pool.instance_type, pool.arch, pool.price) == ("", "", None)


def test_mig_of_an_own_shape() -> None:
    gpu = {"model": "h100", "count": 2, "memoryMib": 81_920}
    pool = pool_of({**SHAPE, "nodeShape": {**SHAPE["nodeShape"], "gpu": gpu}, "gpu": {"mig": "all-3g.40gb"}})
    assert pool.accelerator is not None
    assert (pool.accelerator.resource, pool.accelerator.slices) == ("nvidia.com/mig-3g.40gb", 4)


def test_reserved_resources_are_not_quota() -> None:
    reserved = {"cpu": "1500m", "memory": "1Gi", "ephemeralStorage": "2Gi", "pods": 5}
    pool = pool_of({**SHAPE, "reserved": reserved})
    assert pool.overhead == {"cpu": 1500, "memory": 1024, "ephemeral-storage": 2048, "pods": 5}
    assert pool.usable == {"cpu": 8500, "memory": 99 * 1024, "ephemeral-storage": 48 * 1024, "pods": 105}
    assert pool.capacity == {name: 2 * amount for name, amount in pool.usable.items()}
    assert pool_of(SHAPE).overhead == {}


@pytest.mark.parametrize(
    ("target", "capacity", "exact"),
    [
        (eks("us-east-1"), {}, True),
        (eks("us-west-2"), {}, False),
        (eks("us-east-1"), {"type": "spot"}, False),
        (eks("us-east-1"), {"type": "capacityBlock", "reservationId": "cr-0abc"}, False),
        ({"kind": "local"}, {}, False),
    ],
)
def test_a_list_price_is_exact_in_its_own_region_on_demand(target: Data, capacity: Data, exact: bool) -> None:
    pool = planned_unchecked({**TRAIN, "minSize": 1, "capacity": capacity}, target=target).pools[0]
    assert pool.price is not None
    assert (pool.price.region, pool.price.exact) == ("us-east-1", exact)
    assert pool.usd_per_hour_at_min == pool.price.usd_per_hour
    assert pool.usd_per_hour_at_max == pytest.approx(8 * pool.price.usd_per_hour)


def test_a_configured_price_is_exact() -> None:
    pool = pool_of({**SHAPE, "nodeShape": {**SHAPE["nodeShape"], "hourlyUsd": 12.345}})
    assert pool.price is not None
    assert (pool.price.usd_per_hour, pool.price.exact, pool.price.date) == (12.345, True, "")
    assert pool.usd_per_hour_at_max == 24.69


def test_an_unknown_price_is_none() -> None:
    pool = pool_of(SHAPE)
    assert (pool.price, pool.usd_per_hour_at_min, pool.usd_per_hour_at_max) == (None, None, None)


def eks_pool(data: Data) -> Pool:
    return planned_unchecked(data, target=eks("us-west-2")).pools[0]


def allocatable_on_eks(name: str, **fields: Any) -> Mapping[str, int]:
    return eks_pool({"name": "nodes", "instanceType": name, "maxSize": 2, **fields}).allocatable


@pytest.mark.parametrize(
    ("name", "pods"),
    [
        ("m7i.2xlarge", 110),  # 8 vCPU, 58 addresses
        ("m7i.8xlarge", 250),  # 32 vCPU
        ("p5.48xlarge", 250),  # 98 slots on two interfaces
        ("t3.nano", 34),  # two slots
        ("m4.16xlarge", 234),  # not Nitro: no prefixes
        ("c4.large", 29),
    ],
)
def test_eks_nodes_have_the_pod_limit_of_the_kubelet(name: str, pods: int) -> None:
    assert allocatable_on_eks(name)["pods"] == pods


def test_more_pods_than_the_catalog_counts_with_cost_memory() -> None:
    facts = instance_type("p5.48xlarge")
    assert facts.allocatable_pods == 100
    assert allocatable_on_eks("p5.48xlarge")["memory"] == facts.allocatable_memory_mib - 150 * 11


def test_fewer_pods_than_the_catalog_counts_with_give_nothing_back() -> None:
    facts = instance_type("p4d.24xlarge")
    assert facts.allocatable_pods == 737
    assert allocatable_on_eks("p4d.24xlarge")["memory"] == facts.allocatable_memory_mib


@pytest.mark.parametrize(
    ("size", "mib"),
    [("100Gi", 102_400 * 99 // 100 * 9 // 10 - 1024), ("1Ti", 1_048_576 * 99 // 100 * 9 // 10 - 1024)],
)
def test_the_root_volume_is_the_ephemeral_storage(size: str, mib: int) -> None:
    assert allocatable_on_eks("m7i.2xlarge", rootVolume={"size": size})["ephemeral-storage"] == mib


def test_an_instance_store_replaces_the_root_volume() -> None:
    found = allocatable_on_eks("p5.48xlarge", rootVolume={"size": "1Ti"})["ephemeral-storage"]
    assert found == 25_569_654  # 30,400 GB in MiB, 2 % for the file system, 10 % kept free, 1 GiB for the kubelet


@pytest.mark.parametrize(
    ("fields", "mib"),
    [
        ({"hugepages2Mi": 1024}, 2048),
        ({"network": {"efa": True}}, 10_256),
        ({"network": {"efa": True}, "hugepages2Mi": 8192}, 16_384),
    ],
)
def test_huge_pages_are_a_resource_and_no_memory(fields: Data, mib: int) -> None:
    plain, huge = allocatable_on_eks("p4d.24xlarge"), allocatable_on_eks("p4d.24xlarge", **fields)
    assert huge["hugepages-2Mi"] == mib
    assert huge["memory"] == plain["memory"] - mib
    assert canonical("hugepages-2Mi", mib).endswith("i")
    assert "hugepages-2Mi" not in plain


def test_other_targets_keep_the_figures_of_the_catalog() -> None:
    facts = instance_type("p5.48xlarge")
    for target in ({"kind": "local"}, EXISTING):
        assert pool_of(TRAIN, target=target).allocatable["memory"] == facts.allocatable_memory_mib
        assert pool_of(TRAIN, target=target).allocatable["pods"] == facts.allocatable_pods


def test_eks_nodes_have_labels_of_their_hardware() -> None:
    pool = eks_pool({**SHARED, "network": {"efa": True}, "labels": {"ml": "yes"}})
    assert pool.labels == {
        POOL: "shared",
        "mlcluster.dev/efa": "true",
        "nvidia.com/mig.config": "all-1g.5gb",
        "ml": "yes",
    }
    assert eks_pool(TRAIN).labels["k8s.amazonaws.com/accelerator"] == "nvidia-h100"
    assert pool.selector == {POOL: "shared"}
    assert eks_pool(SYSTEM).labels == {POOL: "system"}


def test_bottlerocket_calls_mig_instances_gpus() -> None:
    pool = eks_pool({**SHARED, "ami": {"family": "bottlerocket"}})
    assert pool.accelerator is not None
    assert (pool.accelerator.resource, pool.accelerator.slices, pool.accelerator.sharing) == (
        "nvidia.com/gpu",
        56,
        "mig",
    )
    assert pool.usable["nvidia.com/gpu"] == 56
    assert pool.labels["k8s.amazonaws.com/accelerator"] == "nvidia-tesla-a100"
