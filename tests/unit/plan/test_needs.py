"""Needs of releases, objects and resources: each is in the plan, and there is no cycle."""

from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from hypothesis import given, settings

from mlcluster.plan import build
from mlcluster.plan.model import Plan, PlanObject, PlanRelease, PlanResource
from mlcluster.spec.load import load
from tests.specs import checked
from tests.strategies import Data, cluster_data

pytestmark = pytest.mark.unit
ROOT = Path(__file__).parents[3]
SPECS = sorted([*ROOT.glob("examples/*.yaml"), *ROOT.glob("tests/golden/components/*/cluster.yaml")])


def in_order(plan: Plan) -> list[str]:
    """Return every id, each after its needs.

    Raises:
        graphlib.CycleError: the needs have a cycle.
    """
    entries: list[PlanResource | PlanRelease | PlanObject] = [*plan.resources, *plan.releases, *plan.objects]
    known = {entry.id for entry in entries}
    assert len(known) == len(entries), "an id stands for two things"
    missing = {(entry.id, need) for entry in entries for need in entry.needs if need not in known}
    assert not missing, "needed and not in the plan"
    return list(TopologicalSorter({entry.id: entry.needs for entry in entries}).static_order())


@pytest.mark.parametrize("path", SPECS, ids=lambda path: str(path.relative_to(ROOT)))
def test_needs_exist_and_have_no_cycle(path: Path) -> None:
    plan = build(load(path).spec)
    order = in_order(plan)
    names = [name for name in order if name.startswith("Release/")]
    if "Release/kueue" in names and plan.cluster.target != "local":
        after = {entry.id for entry in plan.releases if "Release/kueue" in entry.needs}
        assert not after, "Kueue is the last of the controllers"


@pytest.mark.parametrize("path", SPECS, ids=lambda path: str(path.relative_to(ROOT)))
def test_custom_resources_need_the_release_of_their_crd(path: Path) -> None:
    """So they are made after its webhook answers, and deleted while its controller runs."""
    plan = build(load(path).spec)
    owners = {name.partition(".")[2]: release.id for release in plan.releases for name in release.crds}
    entries: list[PlanRelease | PlanObject] = [*plan.releases, *plan.objects]
    needs = {entry.id: set(entry.needs) for entry in entries}
    for entry in plan.objects:
        owner = owners.get(entry.manifest["apiVersion"].partition("/")[0])
        if owner is not None:
            assert owner in _everything(entry.id, needs), f"{entry.id} does not need {owner}"


def _everything(identifier: str, needs: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    open_ends = [identifier]
    while open_ends:
        fresh = needs.get(open_ends.pop(), set()) - found
        found |= fresh
        open_ends += fresh
    return found


@given(cluster_data(targets=("local", "existing", "eks")))
@settings(max_examples=40)
def test_needs_of_random_specs_exist_and_have_no_cycle(data: Data) -> None:
    plan = build(checked(data))
    assert len(in_order(plan)) == len(plan.resources) + len(plan.releases) + len(plan.objects)


def test_the_specs_are_found() -> None:
    assert len(SPECS) >= 8
