"""Items of a plan name what they belong to, and the place in the spec that they come from."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mlcluster.plan import build, names
from mlcluster.plan.model import Plan, PlanObject, PlanResource
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Loc
from mlcluster.spec.load import load

pytestmark = pytest.mark.unit
EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.yaml"))
OF_A_POOL = frozenset(
    {"EC2NodeClass", "LaunchTemplate", "Node", "NodeGroup", "NodePool", "NodeReadinessRule", "ResourceFlavor"}
)


@cache
def example(path: Path) -> tuple[ClusterSpec, Plan]:
    spec = load(path).spec
    return spec, build(spec)


@pytest.fixture(params=EXAMPLES, ids=lambda path: path.stem)
def planned(request: pytest.FixtureRequest) -> tuple[ClusterSpec, Plan]:
    return example(request.param)


def items(plan: Plan) -> list[PlanObject | PlanResource]:
    return [*plan.objects, *plan.resources]


def test_an_item_of_a_pool_names_the_pool_of_its_spec_path(planned: tuple[ClusterSpec, Plan]) -> None:
    spec, plan = planned
    named = [item for item in (*items(plan), *plan.pods) if item.pool]
    for item in named:
        key, index, *_ = item.spec_path
        assert key == "nodePools"
        assert isinstance(index, int)
        assert spec.node_pools[index].name == item.pool
    assert {item.pool for item in named} == {pool.name for pool in spec.node_pools}
    assert all(item.pool for item in items(plan) if item.kind in OF_A_POOL)


def test_the_team_of_an_object_is_that_of_its_label(planned: tuple[ClusterSpec, Plan]) -> None:
    spec, plan = planned
    assert all(one.team == one.manifest["metadata"]["labels"].get(names.TEAM, "") for one in plan.objects)
    assert {one.team for one in plan.objects} - {""} == {team.name for team in spec.teams}
    spaces = {team.namespace: team.name for team in plan.teams}
    assert all(one.team == spaces[one.namespace] for one in plan.objects if one.namespace in spaces and one.team)


def test_a_component_consists_of_the_items_that_name_it(planned: tuple[ClusterSpec, Plan]) -> None:
    _, plan = planned
    for component in plan.components:
        assert list(component.releases) == [one.id for one in plan.releases if one.component == component.name]
        assert sorted(component.objects) == sorted(one.id for one in plan.objects if one.component == component.name)
    known = {component.name for component in plan.components}
    assert {item.component for item in (*items(plan), *plan.releases, *plan.pods)} <= {*known, ""}
    assert all(pod.component for pod in plan.pods if pod.owner.kind == "Release")


def test_every_spec_path_leads_to_a_value_of_the_spec(planned: tuple[ClusterSpec, Plan]) -> None:
    spec, plan = planned
    document = spec.model_dump(by_alias=True)
    found = (*items(plan), *plan.releases, *plan.pods, *plan.pools, *plan.teams, *plan.components)
    assert [item.spec_path for item in found if not _leads(document, item.spec_path)] == []


def _leads(value: Any, path: Loc) -> bool:
    """Return whether a path leads to a value of the document."""
    try:
        for part in path:
            value = value[part]
    except (IndexError, KeyError, TypeError):
        return False
    return True
