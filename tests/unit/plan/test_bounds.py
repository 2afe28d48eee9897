"""The resource that limits a pool first: never the disk of containers without requests."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from mlcluster.plan import build
from mlcluster.plan.document import to_document
from mlcluster.plan.model import Plan
from mlcluster.report.plan_text import plan_text
from mlcluster.spec.load import load
from tests.specs import EXISTING, SHAPE, SHARED, SYSTEM, TRAIN, Data, checked, planned
from tests.strategies import cluster_data

pytestmark = pytest.mark.unit

EXAMPLES = sorted((Path(__file__).parent.parent.parent.parent / "examples").glob("*.yaml"))
DISK = "ephemeral-storage"
SMALLEST = 16
SHORT = {"memory": "mem", DISK: "disk"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_disk_limits_no_pool_of_the_examples_and_the_plan_names_the_limiting_resource(path: Path) -> None:
    plan = build(load(path).spec)
    text, document = " ".join(plan_text(plan, width=4000).split()), to_document(plan)
    for pool, written in zip(plan.pools, document["pools"], strict=True):
        assert pool.first_bound != DISK
        assert (written["firstBound"], written["defaultContainers"]) == (pool.first_bound, pool.default_containers)
        if pool.system_only:
            assert not re.search(rf"Bounds ([^:]*, )?{pool.name}(, [^:]*)?:", text), "no container of a team runs there"
            continue
        count = pool.default_containers[pool.first_bound]
        short = SHORT.get(pool.first_bound, pool.first_bound.removeprefix("nvidia.com/"))
        told = (
            rf"Bounds ([^:]*, )?{pool.name}(, [^:]*)?: {re.escape(short)} first, {count:,} default containers? a node"
        )
        assert re.search(told, text)


@settings(max_examples=40)
@given(cluster_data(targets=("local", "existing", "eks")))
def test_a_node_has_the_disk_for_as_many_small_pods_as_it_holds(data: dict[str, Any]) -> None:
    """Containers with small requests and the default of disk: pods bound, or GPUs where only GPU pods come."""
    plan = build(checked(data))
    disk = plan.default_requests[DISK]
    for pool in plan.pools:
        most = pool.usable["pods"]
        if pool.accelerator is not None and any(taint.key == "nvidia.com/gpu" for taint in pool.taints):
            most = min(most, pool.accelerator.slices)
        assert disk == SMALLEST or most * disk <= pool.usable[DISK]


def default_disk(*pools: Data, **rest: Any) -> int:
    return planned(*pools, **rest).default_requests[DISK]


def test_the_default_of_disk_is_a_round_figure_of_at_most_one_gibibyte() -> None:
    assert default_disk(SYSTEM) == 1024
    assert default_disk({**SYSTEM, "instanceType": "m7i.48xlarge"}) == 64
    assert default_disk({**SHAPE, "nodeShape": {"cpu": "8", "memory": "64Gi", "ephemeralStorage": "100Mi"}}) == SMALLEST


def test_a_pool_that_is_short_of_disk_is_reported() -> None:
    shape = {"cpu": "64", "memory": "256Gi", "ephemeralStorage": "200Mi", "pods": 500}
    plan = planned({**SHAPE, "nodeShape": shape})
    assert plan.pools[0].first_bound == DISK
    assert "own: disk first, 12 default containers a node (cpu 128" in plan_text(plan)


def test_gpu_pools_count_the_gpu_resources_that_pods_request() -> None:
    plan = planned(TRAIN, SHARED, {**SHARED, "name": "balanced", "gpu": {"mig": "all-balanced"}})
    assert [pool.first_bound for pool in plan.pools] == ["nvidia.com/gpu", "nvidia.com/mig-1g.5gb", "slices"]
    assert [pool.default_containers[pool.first_bound] for pool in plan.pools] == [8, 56, 32]


def limit_range(plan: Plan) -> Any:
    (found,) = [entry.manifest for entry in plan.objects if entry.manifest["kind"] == "LimitRange"]
    return found["spec"]["limits"][0]["defaultRequest"]


def test_the_limit_range_has_the_defaults_that_the_plan_states() -> None:
    plan = planned({**SYSTEM, "instanceType": "m7i.48xlarge"}, teams=[{"name": "research"}])
    assert limit_range(plan) == {"cpu": "500m", "memory": "1Gi", DISK: "64Mi"}


def test_nodes_made_elsewhere_have_the_disk_that_is_certain() -> None:
    """20 GiB is the smallest default root volume of EC2 nodes; nodeShape can set a larger one."""
    assert planned(SYSTEM, target=EXISTING).pools[0].usable[DISK] == 17 * 1024
    assert planned(SYSTEM).pools[0].usable[DISK] == 90_214
