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
EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("eks-*.yaml"))


def _unprotected(plan: Plan) -> Plan:
    """The plan with a control plane that may be deleted."""
    changed = [
        replace(one, inputs={**one.inputs, "deletionProtection": False}) if "deletionProtection" in one.inputs else one
        for one in plan.resources
    ]
    return replace(plan, resources=tuple(changed))


def _labelled(path: Path) -> Plan:
    """The plan with one more label on the first pool."""
    data: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    data["nodePools"][0].setdefault("labels", {})["changed"] = "yes"
    return build(parse(json.dumps(data).encode(), path.name).spec)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_comes_up_stays_and_goes(path: Path, cloud_engine_of: EngineOf, cloud: Cloud) -> None:
    spec = load(path).spec
    assert isinstance(spec.target, EksTarget)
    plan = _unprotected(build(spec))
    arguments = {"region": spec.target.region, "account_id": spec.target.account_id, "profile": spec.target.profile}
    cloud.account, cloud.region = spec.target.account_id or cloud.account, spec.target.region
    engine = cloud_engine_of(plan, **arguments)
    previewed = engine.preview()
    made = engine.up().changes
    assert {change.id for change in previewed.items} == {change.id for change in made.items}
    assert made.counts.keys() == {"create"}
    assert {one.id for one in plan.resources} <= {change.id for change in made.items}
    assert not engine.up().changes
    assert engine.outputs()["values"].keys() <= {one.id for one in plan.resources}
    changed = cloud_engine_of(_unprotected(_labelled(path)), **arguments)
    expected = {change.id: change.op for change in changed.preview().effective}
    assert expected["NodeGroup/system"] == "update"
    assert set(expected.values()) <= {"create", "update"}
    assert {change.id: change.op for change in changed.up().changes.effective} == expected
    changed.destroy()
    assert cloud.ids() == sorted(one.id for one in plan.resources if one.retained)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 5
