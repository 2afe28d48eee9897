"""Guarantees without resources: no node can hold them, or pods of other teams may be on all nodes."""

from typing import Any

import pytest

from mlcluster.plan.model import Plan
from mlcluster.rules import findings
from mlcluster.spec.cluster import ClusterSpec
from tests.specs import SHARED, SYSTEM, TRAIN, Data, checked, cluster, planned

pytestmark = pytest.mark.unit
SMALL: Data = {"name": "small", "nodeShape": {"cpu": "1", "memory": "8Gi", "pods": 30}, "maxSize": 5}
COMPONENTS: Data = {"monitoring": {}, "keda": {}, "kserve": {}}


def _found(*pools: Data, **rest: Any) -> dict[str, str]:
    spec = checked(cluster(*pools, **rest))
    return {finding.id: finding.message for finding in findings(planned(*pools, **rest), spec)}


def test_a_node_that_controllers_can_fill_is_no_guarantee() -> None:
    team: Data = {"name": "a", "guarantee": {"small": {"nodes": 1}}}
    message = _found(SMALL, components=COMPONENTS, teams=[team])["QTA005"]
    assert "no node of small is certain to hold the share of one node of team a" in message
    assert "cpu 1 - 50m for daemon sets and reserved - 950m or more for controllers = 0" in message


def test_a_share_of_a_gpu_is_distinguished_from_a_share_of_the_node() -> None:
    """Four pods are left of a node with eight GPUs: none for each."""
    shape: Data = {"cpu": "64", "memory": "256Gi", "pods": 4, "gpu": {"model": "h100", "count": 8, "memoryMib": 81920}}
    pools: tuple[Data, ...] = (SYSTEM, {"name": "gpu", "nodeShape": shape, "maxSize": 2})
    (found,) = [
        finding
        for finding in findings(*_plan_and_spec(*pools, teams=[{"name": "a", "guarantee": {"gpu": {"gpus": 1}}}]))
        if finding.id == "QTA005"
    ]
    assert "pods 4 - 0 for daemon sets and reserved - 0 for controllers = 4, for 8 GPUs" in found.message
    assert "systemOnly" not in found.hint


def _plan_and_spec(*pools: Data, **rest: Any) -> tuple[Plan, ClusterSpec]:
    return planned(*pools, **rest), checked(cluster(*pools, **rest))


def test_a_system_pool_makes_the_guarantee_real() -> None:
    team: Data = {"name": "a", "guarantee": {"small": {"nodes": 1}}}
    found = _found(SMALL, {**SYSTEM, "systemOnly": True}, components=COMPONENTS, teams=[team])
    assert not {"QTA005", "QTA007"} & set(found)


def test_nothing_guaranteed_needs_no_room() -> None:
    team: Data = {"name": "a", "guarantee": {"small": {"nodes": 0}}, "borrow": "all"}
    assert "QTA005" not in _found(SMALL, components=COMPONENTS, teams=[team])


def test_a_pool_without_room_for_teams_is_reported() -> None:
    one: Data = {**SMALL, "maxSize": 1}
    team: Data = {"name": "a", "borrow": "all"}
    message = _found(one, components=COMPONENTS, teams=[team]).get("QTA007", "")
    assert "controllers may use all" in message


def test_whole_nodes_beside_single_gpus() -> None:
    nodes: Data = {"name": "a", "guarantee": {"train": {"nodes": 4}}}
    gpus: Data = {"name": "b", "guarantee": {"train": {"gpus": 5}}}
    message = _found(SYSTEM, TRAIN, teams=[nodes, gpus])["QTA006"]
    assert "Pods with one GPU each may run on 5 of its 8 nodes, which leaves 3 nodes whole" in message
    fewer: Data = {"name": "b", "guarantee": {"train": {"gpus": 4}}}
    assert "QTA006" not in _found(SYSTEM, TRAIN, teams=[nodes, fewer])


def test_slices_are_the_same_piece_for_all() -> None:
    """Of a pool whose GPUs are cut, a node's worth is requested slice by slice."""
    nodes: Data = {"name": "a", "guarantee": {"shared": {"nodes": 1}}}
    gpus: Data = {"name": "b", "guarantee": {"shared": {"gpus": 8}}}
    assert "QTA006" not in _found(SYSTEM, SHARED, teams=[nodes, gpus])
