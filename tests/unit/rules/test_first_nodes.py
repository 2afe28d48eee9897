"""Clusters in which no node starts, because the autoscaler waits for a node."""

import pytest

from mlcluster.plan.build import build
from mlcluster.rules.placement import first_nodes
from tests.eks_contexts import eks_spec
from tests.specs import SYSTEM, TRAIN, Data

pytestmark = pytest.mark.unit


def said(*pools: Data, autoscaler: str = "clusterAutoscaler") -> list[tuple[str, object, str, str]]:
    plan = build(eks_spec(*pools, autoscaler=autoscaler))
    return [(found.id, found.place, found.message, found.hint) for found in first_nodes(plan)]


@pytest.mark.parametrize(("autoscaler", "who"), [("clusterAutoscaler", "cluster-autoscaler"), ("none", "coredns")])
def test_a_cluster_that_begins_without_nodes(autoscaler: str, who: str) -> None:
    ((identifier, place, message, hint),) = said(
        {**SYSTEM, "minSize": 0}, {**TRAIN, "minSize": 1}, autoscaler=autoscaler
    )
    assert (identifier, place, hint) == ("SCH001", ("nodePools", 0), "Set `minSize: 2` for system.")
    assert who in message
    assert "has an initial node" in message


def test_one_node_is_enough() -> None:
    assert said({**SYSTEM, "minSize": 0}, {**SYSTEM, "name": "other", "minSize": 1}, TRAIN) == []


def test_a_pod_that_fits_nowhere_is_left_to_another_rule() -> None:
    assert [hint for *_, hint in said({**TRAIN, "minSize": 1})] == []
