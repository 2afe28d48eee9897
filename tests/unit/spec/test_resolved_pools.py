"""The facts of node pools, which the checks, the plan and the rules share."""

import json
from typing import Any

import pytest

from mlcluster.plan import build
from mlcluster.spec.base import UnknownValueError
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.components import Components
from mlcluster.spec.partial import partial_spec
from mlcluster.spec.resolved_pools import ResolvedPool
from mlcluster.spec.yaml_reader import read_yaml
from tests.specs import SHAPE, SHARED, SYSTEM, TRAIN, Data, cluster

pytestmark = pytest.mark.unit


def resolved(data: Data, **rest: Any) -> ResolvedPool:
    return ClusterSpec.model_validate(cluster(data, **rest)).resolved_pools[0]


def partially(data: Data) -> ResolvedPool:
    return partial_spec(read_yaml(json.dumps(cluster(data), indent=1), "cluster.yaml")).resolved_pools[0]


@pytest.mark.parametrize(
    ("pool", "gpus", "slices"),
    [
        (SYSTEM, ("", 0, None), 1),
        (TRAIN, ("h100", 8, 81_920), 1),
        ({**TRAIN, "gpu": {"timeSlicing": {"replicas": 4}}}, ("h100", 8, 81_920), 4),
        (SHARED, ("a100", 8, 40_960), 7),
        ({**SHARED, "gpu": {"mig": "all-9g.90gb"}}, ("a100", 8, 40_960), 1),
        ({**SYSTEM, "instanceType": "inf2.xlarge"}, ("", 0, None), 1),
        ({**SYSTEM, "instanceType": "m7i.unknown"}, ("", 0, None), 1),
        (SHAPE, ("", 0, None), 1),
        ({**SHAPE, "nodeShape": {**SHAPE["nodeShape"], "gpu": {"model": "l4", "count": 2}}}, ("l4", 2, None), 1),
    ],
)
def test_gpus_and_slices(pool: Data, gpus: tuple[str, int, int | None], slices: int) -> None:
    found = resolved(pool)
    assert (found.gpus, found.slices_per_gpu) == (gpus, slices)


@pytest.mark.parametrize("strategy", ["single", "mixed"])
def test_slices_are_the_sum_of_the_resources_that_pods_request(strategy: str) -> None:
    found = resolved({**SHARED, "gpu": {"mig": "all-balanced"}}, components={"gpuOperator": {"migStrategy": strategy}})
    assert sum(found.gpu_resources.values()) == found.slices_per_gpu * found.gpus.number
    assert len(found.gpu_resources) == (1 if strategy == "single" else 3)


@pytest.mark.parametrize(
    ("pool", "known"),
    [
        (SYSTEM, True),
        (SHAPE, True),
        ({**SHAPE, "instanceType": "m7i.2xlarge"}, False),
        ({"name": "none", "maxSize": 1}, False),
        ({**SYSTEM, "instanceType": "m7i.unknown"}, False),
    ],
)
def test_a_known_node_is_of_one_kind(pool: Data, known: bool) -> None:
    assert resolved(pool).has_known_node is known


def test_an_unknown_value_hides_only_the_facts_that_depend_on_it() -> None:
    pool = partially({**SHARED, "gpu": {"mig": 7}, "reserved": {"cpu": "many", "pods": 3}})
    assert (pool.gpus.number, pool.machine["pods"], pool.has_known_node) == (8, 737, True)
    for fact in ("sharing", "slices_per_gpu", "allocatable", "reserved"):
        with pytest.raises(UnknownValueError):
            getattr(pool, fact)


def test_a_copy_resolves_its_own_pools() -> None:
    given = ClusterSpec.model_validate(cluster(SHARED, components={"gpuOperator": {"migStrategy": "single"}}))
    assert list(given.pool("shared").gpu_resources) == ["nvidia.com/gpu"]
    copied = given.model_copy(update={"components": Components()})
    assert list(copied.pool("shared").gpu_resources) == ["nvidia.com/mig-1g.5gb"]
    assert list(copied.resolved_pools[0].gpu_resources) == ["nvidia.com/mig-1g.5gb"]


def test_the_plan_has_the_amounts_of_the_resolved_pools() -> None:
    spec = ClusterSpec.model_validate(cluster(SYSTEM, {**SHARED, "reserved": {"cpu": "0.5", "memory": "1.5Gi"}}))
    plan = build(spec)
    assert [pool.allocatable for pool in plan.pools] == [pool.allocatable for pool in spec.resolved_pools]
    assert plan.pools[1].reserved == spec.pool("shared").reserved == {"cpu": 500, "memory": 1536}


def test_a_pool_is_found_by_its_name() -> None:
    spec = ClusterSpec.model_validate(cluster(SYSTEM, TRAIN))
    assert spec.pool("train").loc == ("nodePools", 1)
    with pytest.raises(KeyError):
        spec.pool("trains")
