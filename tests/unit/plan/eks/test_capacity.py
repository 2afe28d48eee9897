"""How nodes are bought and placed."""

import pytest

from mlcluster.plan.eks.capacity import node_group_capacity, placement_group_resources, schedule_resources
from mlcluster.plan.model import PlanResource
from mlcluster.plan.values import Ref
from tests.eks_contexts import eks_context
from tests.specs import TRAIN, Data

pytestmark = pytest.mark.unit

BLOCK: Data = {"type": "capacityBlock", "reservationId": "cr-0abc"}
GROUP = Ref("NodeGroup/train", "resources[0].autoscalingGroups[0].name")


@pytest.mark.parametrize(
    ("capacity", "expected"),
    [
        ({"type": "onDemand"}, {"capacityType": "ON_DEMAND", "instanceTypes": ["p5.48xlarge"]}),
        (
            {"type": "spot", "also": ["p5e.48xlarge"]},
            {"capacityType": "SPOT", "instanceTypes": ["p5.48xlarge", "p5e.48xlarge"]},
        ),
        (
            {"type": "reservation", "reservationId": "cr-0abc"},
            {"capacityType": "ON_DEMAND", "instanceTypes": ["p5.48xlarge"]},
        ),
        (BLOCK, {"capacityType": "CAPACITY_BLOCK"}),
    ],
)
def test_capacity_options_of_a_node_group(capacity: Data, expected: Data) -> None:
    context = eks_context({**TRAIN, "capacity": capacity})
    assert node_group_capacity(context, context.pools[0]) == expected


def placement(pool: Data) -> list[PlanResource]:
    context = eks_context(pool)
    return placement_group_resources(context, context.pools[0])


def test_a_placement_group_of_its_own() -> None:
    (made,) = placement({**TRAIN, "network": {"placementGroup": "cluster"}})
    assert (made.id, made.spec_path) == ("PlacementGroup/train", ("nodePools", 0, "network", "placementGroup"))
    assert (made.inputs["name"], made.inputs["strategy"]) == ("atlas-train", "cluster")
    assert made.inputs["tags"]["mlcluster.dev/cluster"] == "atlas"


def test_no_placement_group_unless_asked_and_never_for_blocks() -> None:
    assert placement(TRAIN) == []
    assert placement({**TRAIN, "network": {"placementGroup": "cluster"}, "capacity": BLOCK}) == []


def schedules(autoscaler: str, **capacity: str) -> list[PlanResource]:
    context = eks_context({**TRAIN, "capacity": {**BLOCK, **capacity}}, autoscaler=autoscaler)
    return schedule_resources(context, context.pools[0], GROUP)


@pytest.mark.parametrize("written", ["2026-12-01T11:30Z", "2026-12-01T11:30:00Z"])
def test_without_an_autoscaler_a_block_starts_by_schedule(written: str) -> None:
    (made,) = schedules("none", startsAt=written)
    assert (made.id, made.needs) == ("Schedule/train-start", ("NodeGroup/train",))
    assert made.spec_path == ("nodePools", 0, "capacity", "startsAt")
    assert made.inputs == {
        "autoscalingGroupName": GROUP,
        "scheduledActionName": "atlas-train-start",
        "startTime": "2026-12-01T11:30:00Z",
        "minSize": 0,
        "maxSize": 8,
        "desiredCapacity": 8,
    }


def test_an_autoscaler_starts_a_block_itself() -> None:
    assert schedules("clusterAutoscaler", startsAt="2026-12-01T11:30Z") == []


def test_only_blocks_are_scheduled() -> None:
    context = eks_context(TRAIN, autoscaler="none")
    assert schedule_resources(context, context.pools[0], GROUP) == []
