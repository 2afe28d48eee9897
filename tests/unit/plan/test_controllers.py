"""Resources of pools that controllers may use: every replica, all on one node."""

from dataclasses import replace

import pytest

from mlcluster.plan.arithmetic import arithmetic
from mlcluster.plan.controllers import takes, with_controllers
from mlcluster.plan.model import ItemRef, PlanPod
from mlcluster.quantities import add
from tests.specs import SHAPE, SYSTEM, TRAIN, Data, manifests, planned, pool_of

pytestmark = pytest.mark.unit
TAINTED: Data = {**SHAPE, "name": "kept", "taints": [{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]}


def pod(cpu: int = 1000, memory: int = 1024, **more: object) -> PlanPod:
    """Return a controller of one CPU and 1 GiB."""
    made = PlanPod(
        owner=ItemRef("Release", "made"),
        kind="Deployment",
        namespace="made",
        node_selector={},
        tolerations=(),
        requests={"cpu": cpu, "memory": memory, "pods": 1},
        priority_class="system-cluster-critical",
        evidence="declared",
        source="this test",
        spec_path=("components", "made"),
    )
    return replace(made, **more)  # type: ignore[arg-type]  # fields of a PlanPod


def test_all_replicas_may_stand_on_one_node() -> None:
    (own,) = with_controllers([pool_of(SHAPE)], [pod(replicas=2), pod(cpu=500)])
    assert own.controllers == {"cpu": 2500, "memory": 3 * 1024, "pods": 3}
    assert own.node_share["cpu"] == 10_000 - 2500
    assert own.capacity["cpu"] == 2 * 10_000 - 2500


def test_replicas_that_keep_apart_count_once_a_node() -> None:
    (own,) = with_controllers([pool_of(SHAPE)], [pod(replicas=3, apart=True)])
    assert own.node_share["cpu"] == 9_000
    assert own.controllers["cpu"] == 2_000, "the pool has two nodes"


def test_unschedulable_pods_use_no_resources() -> None:
    pods = [
        pod(cpu=11_000),
        pod(node_selector={"elsewhere": "yes"}),
        pod(kind="DaemonSet"),
        pod(yields=True),
    ]
    (own,) = with_controllers([pool_of(SHAPE)], pods)
    assert own.controllers == {}
    assert own.node_share == own.usable
    (kept,) = with_controllers([pool_of(TAINTED)], [pod()])
    assert kept.controllers == {}


def test_controllers_use_at_most_the_allocatable_resources() -> None:
    (own,) = with_controllers([pool_of(SHAPE)], [pod(cpu=9_000, replicas=5)])
    assert own.controllers["cpu"] == 20_000
    assert own.capacity["cpu"] == own.node_share["cpu"] == 0


def test_a_guarantee_is_nodes_without_controllers() -> None:
    """Prometheus and the operators run on nodes that a team is guaranteed."""
    small: Data = {"name": "system", "instanceType": "m7i.large", "maxSize": 3}
    team: Data = {"name": "a", "guarantee": {"system": {"nodes": 1}}}
    plan = planned(small, TRAIN, components={"gpuOperator": {}, "monitoring": {}}, teams=[team])
    pool = plan.pools[0]
    taken = sum(
        pod.requests.get("cpu", 0) * pod.replicas for pod in plan.pods if pod.kind != "DaemonSet" and takes(pool, pod)
    )
    assert taken >= 1000
    assert plan.teams[0].quotas[0].nominal["cpu"] == pool.usable["cpu"] - taken
    assert pool.controllers["cpu"] == taken


def test_every_term_adds_up() -> None:
    reserved: Data = {**SYSTEM, "reserved": {"cpu": "250m", "memory": "1Gi", "pods": 2}}
    teams = [{"name": "a", "guarantee": {"system": {"nodes": 1}, "train": {"gpus": 3}}, "borrow": "all"}]
    plan = planned(reserved, TRAIN, components={"monitoring": {}, "keda": {}}, teams=teams)
    for terms in arithmetic(plan):
        kept = add(terms.daemon_sets, terms.controllers, terms.reserved)
        given = add(terms.guaranteed, terms.unassigned)
        assert terms.allocatable == add(kept, given)
        assert terms.nodes
    system = arithmetic(plan)[0]
    assert system.reserved["cpu"] == 4 * 250
    assert system.controllers["cpu"] > 0


def test_a_system_pool_is_kept_from_teams() -> None:
    system: Data = {**SYSTEM, "systemOnly": True}
    team: Data = {"name": "a", "guarantee": {"own": {"nodes": 1}}, "borrow": "all"}
    plan = planned(system, SHAPE, components={"monitoring": {}}, teams=[team])
    first, second = plan.pools
    assert [(taint.key, taint.effect) for taint in first.taints] == [("CriticalAddonsOnly", "NoSchedule")]
    assert list(manifests(plan, "ResourceFlavor")) == ["own"]
    assert [quota.pool for quota in plan.teams[0].quotas] == ["own"]
    assert list(plan.cohorts[0].remainder) == ["own"]
    assert first.controllers
    assert second.controllers == {}, "controllers select the pool that is theirs"
