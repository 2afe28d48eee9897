"""What the state records of a resource: its kind, name, namespace and pool."""

from typing import Any

import pytest

from mlcluster.engine.identity import RELEASE, Identity, identity_of
from mlcluster.plan import build
from mlcluster.plan.model import Plan
from stacks.registration import type_token
from tests.eks_contexts import eks_spec
from tests.specs import EXISTING, SYSTEM, TRAIN, planned

pytestmark = pytest.mark.unit
TEAMS: list[dict[str, Any]] = [{"name": "research", "borrow": "all"}]


@pytest.mark.parametrize("target", [{"kind": "local"}, EXISTING], ids=["local", "existing"])
def test_an_object_in_the_state_is_the_one_that_the_plan_registers(target: dict[str, Any]) -> None:
    plan = planned(
        SYSTEM, {**TRAIN, "topology": ["example.com/rack"]} if target is EXISTING else TRAIN, target=target, teams=TEAMS
    )
    for entry in plan.objects:
        found = identity_of(type_token(entry.manifest), entry.id, entry.manifest)
        assert (found.kind, found.name, found.namespace) == (entry.kind, entry.name, entry.namespace)
        assert found.pool == (entry.pool if entry.kind == "ResourceFlavor" else "")
    for release in plan.releases:
        inputs = {"name": release.name, "namespace": release.namespace}
        assert identity_of(RELEASE, release.id, inputs) == Identity("Release", release.name, release.namespace)
    nodes = [identity_of(node.type, node.id, node.inputs) for node in plan.resources]
    assert [(node.name, node.pool) for node in nodes] == list(
        zip(plan.simulated_nodes, [node.pool for node in plan.resources], strict=True)
    )


@pytest.fixture(scope="module")
def on_eks() -> Plan:
    return build(eks_spec(SYSTEM, TRAIN))


def test_a_resource_of_aws_in_the_state_has_the_name_and_the_pool_of_the_plan(on_eks: Plan) -> None:
    for entry in on_eks.resources:
        found = identity_of(entry.type, entry.id, entry.inputs)
        assert f"{found.kind}/{found.name}" == entry.id
        assert found.pool == (entry.pool if entry.kind == "NodeGroup" else "")


def test_a_resource_that_a_component_made_keeps_its_pulumi_name() -> None:
    assert identity_of("aws:eks/cluster:Cluster", "atlas-cluster", {}) == Identity("Cluster", "atlas-cluster")
