"""Every example of the eks target as a stack: up, up again, down, with every property checked against the SDK."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from mlcluster.plan import build
from mlcluster.plan.model import Plan
from mlcluster.spec.eks import EksTarget
from mlcluster.spec.load import load, parse
from tests.fakes.cloud import Cloud
from tests.fakes.cloud_stack import EngineOf

pytestmark = pytest.mark.engine
CHANGED = "eks-serving"
"""The example whose pools a test changes in every run; `make soak` changes those of all."""
EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("eks-*.yaml"))


def _unprotected(plan: Plan) -> Plan:
    """Return the plan with a control plane that may be deleted."""
    changed = [
        replace(one, inputs={**one.inputs, "deletionProtection": False}) if "deletionProtection" in one.inputs else one
        for one in plan.resources
    ]
    return replace(plan, resources=tuple(changed))


def _labelled(path: Path) -> Plan:
    """Return the plan with one more label on the first pool."""
    data: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    data["nodePools"][0].setdefault("labels", {})["changed"] = "yes"
    return build(parse(json.dumps(data).encode(), path.name).spec)


def _arguments(path: Path, cloud: Cloud) -> dict[str, Any]:
    """Return the arguments of the program, in an account and a region that are the example's."""
    target = load(path).spec.target
    assert isinstance(target, EksTarget)
    cloud.account, cloud.region = target.account_id or cloud.account, target.region
    return {"region": target.region, "account_id": target.account_id, "profile": target.profile}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_created_unchanged_by_a_second_up_and_destroyed(
    path: Path, cloud_engine_of: EngineOf, cloud: Cloud
) -> None:
    plan = _unprotected(build(load(path).spec))
    engine = cloud_engine_of(plan, **_arguments(path, cloud))
    previewed = engine.preview()
    made = engine.up().changes
    assert {change.id for change in previewed.items} == {change.id for change in made.items}
    assert made.counts.keys() == {"create"}
    assert {one.id for one in plan.resources} <= {change.id for change in made.items}
    assert not engine.up().changes
    assert engine.outputs()["values"].keys() <= {one.id for one in plan.resources}
    engine.destroy()
    assert cloud.ids() == sorted(one.id for one in plan.resources if one.retained)


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[] if path.stem == CHANGED else [pytest.mark.soak]) for path in EXAMPLES],
    ids=lambda path: path.stem,
)
def test_a_new_label_on_a_pool_appears_in_the_preview(path: Path, cloud_engine_of: EngineOf, cloud: Cloud) -> None:
    arguments = _arguments(path, cloud)
    cloud_engine_of(build(load(path).spec), **arguments).up()
    changed = cloud_engine_of(_labelled(path), **arguments)
    expected = {change.id: change.op for change in changed.preview().effective}
    assert expected["NodeGroup/system"] == "update"
    assert set(expected.values()) <= {"create", "update"}
    assert {change.id: change.op for change in changed.up().changes.effective} == expected


def test_the_examples_are_found() -> None:
    assert len(EXAMPLES) >= 5
