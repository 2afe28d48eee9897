"""Controllers together: pods that the rule accepts fit in every order and on any nodes that the scheduler chooses."""

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlcluster.plan.controllers import takes
from mlcluster.plan.model import PlanPod, Pool
from mlcluster.rules import findings
from mlcluster.rules.controllers import without_room
from tests.specs import SYSTEM, TRAIN, Data, checked, cluster, planned, pool_of
from tests.unit.plan.test_controllers import pod

pytestmark = pytest.mark.unit
WIDE: Data = {"name": "wide", "nodeShape": {"cpu": "4", "memory": "8Gi", "pods": 6}, "maxSize": 4}
FLAT: Data = {"name": "flat", "nodeShape": {"cpu": "2", "memory": "16Gi", "pods": 4}, "maxSize": 3}

_pods = st.builds(
    pod,
    cpu=st.integers(0, 3000),
    memory=st.integers(0, 6 * 1024),
    replicas=st.integers(1, 3),
    apart=st.booleans(),
)


@given(pods=st.lists(_pods, max_size=8), seed=st.integers(0, 2**32))
def test_without_a_finding_every_order_and_choice_fits(pods: list[PlanPod], seed: int) -> None:
    """A scheduler that chooses any node at random, in any order, never ends with a pod that waits."""
    pools = [pool_of(WIDE), pool_of(FLAT)]
    sizes = {pool.name: pool.max_size for pool in pools}
    if any(not any(takes(pool, one) for pool in pools) for one in pods) or without_room(pools, pods, sizes):
        return
    assert not _waiting(pools, pods, random.Random(seed))  # noqa: S311 -- an order, no secret


def _waiting(pools: Sequence[Pool], pods: Sequence[PlanPod], chance: random.Random) -> list[PlanPod]:
    nodes = [(pool, dict(pool.usable), set[int]()) for pool in pools for _ in range(pool.max_size)]
    replicas = [(number, one) for number, one in enumerate(pods) for _ in range(one.replicas)]
    chance.shuffle(replicas)
    waiting = []
    for number, one in replicas:
        free = [
            (room, here)
            for pool, room, here in nodes
            if takes(pool, one)
            and not (one.apart and number in here)
            and all(room[name] >= amount for name, amount in one.requests.items())
        ]
        if not free:
            waiting.append(one)
            continue
        room, here = chance.choice(free)
        here.add(number)
        for name, amount in one.requests.items():
            room[name] -= amount
    return waiting


def test_controllers_that_fit_in_no_order_are_found() -> None:
    pools = [pool_of(FLAT)]
    pods = [pod(cpu=1500, memory=10) for _ in range(4)]
    assert _waiting(pools, pods, random.Random(1))  # noqa: S311 -- an order, no secret
    assert without_room(pools, pods, {"flat": 3}) == pods
    assert without_room(pools, pods, {"flat": 4}) == []


def test_replicas_that_keep_apart_need_a_node_each() -> None:
    pools = [pool_of(FLAT)]
    assert without_room(pools, [pod(cpu=1, memory=1, replicas=3, apart=True)], {"flat": 3}) == []
    assert without_room(pools, [pod(cpu=1, memory=1, replicas=3, apart=True)], {"flat": 2})


def _found(*pools: Data, **rest: Any) -> dict[str, str]:
    spec = checked(cluster(*pools, **rest))
    plan = planned(*pools, **rest)
    return {finding.id: finding.message for finding in findings(plan, spec)}


TINY: Data = {"name": "tiny", "instanceType": "m7i.large", "maxSize": 1}
COMPONENTS: Data = {"gpuOperator": {}, "monitoring": {}, "keda": {}, "kserve": {}, "prometheusAdapter": {}}


def test_components_on_one_small_node_are_refused_with_the_arithmetic() -> None:
    message = _found(TINY, TRAIN, components=COMPONENTS)["SCH002"]
    assert "tiny 1 x (cpu " in message
    assert "Together they request cpu " in message
    assert "SCH002" not in _found({**TINY, "maxSize": 4}, TRAIN, components=COMPONENTS)


def test_a_lost_node_and_a_small_start_are_reported() -> None:
    eks: Data = {"kind": "eks", "region": "us-west-2", "autoscaler": "clusterAutoscaler"}
    system: Data = {**SYSTEM, "instanceType": "m7i.large", "minSize": 1, "maxSize": 6}
    found = _found(system, TRAIN, target=eks, components={"monitoring": {}, "kserve": {}})
    assert "SCH002" not in found
    assert "at the minimum size" in found["SCH003"]
    one: Data = {**SYSTEM, "minSize": 1, "maxSize": 1}
    assert "without one node of system" in _found(one, TRAIN, target=eks)["SCH004"]
    assert not {"SCH003", "SCH004"} & set(_found({**SYSTEM, "minSize": 3}, TRAIN, target=eks))
