"""Resources of a node that daemon sets use: only on their nodes, and at most the allocatable ones."""

from dataclasses import replace
from typing import Any

import pytest

from mlcluster.plan.model import ItemRef, PlanPod, Pool, Taint, Toleration
from mlcluster.plan.overhead import lands_on, with_daemon_sets
from mlcluster.plan.taints import EVERY_TAINT
from tests.specs import LOCAL, SYSTEM, TRAIN, planned

pytestmark = pytest.mark.unit

GPU = Taint("nvidia.com/gpu", "present", "NoSchedule")
DEDICATED = Taint("dedicated", "training", "NoExecute")
SOFT = Taint("dedicated", "training", "PreferNoSchedule")


def pod(*tolerations: Toleration, selector: dict[str, str] | None = None, **fields: Any) -> PlanPod:
    made = PlanPod(
        owner=ItemRef("DaemonSet", "daemon"), kind="DaemonSet", namespace="kube-system", node_selector=selector or {},
        tolerations=tolerations, requests={"cpu": 100, "memory": 200, "pods": 1}, priority_class="",
        evidence="declared", source="here", spec_path=("target",),
    )  # fmt: skip
    return replace(made, **fields)


@pytest.fixture(scope="module")
def system() -> Pool:
    """Return a pool of CPU nodes without taints."""
    return replace(planned(SYSTEM, TRAIN, target=LOCAL).pools[0], taints=(), overhead={})


class TestLandsOn:
    def test_a_node_without_taints_takes_every_pod(self, system: Pool) -> None:
        assert lands_on(pod(), system)

    @pytest.mark.parametrize("taint", [GPU, DEDICATED])
    def test_a_hard_taint_has_to_be_tolerated(self, taint: Taint, system: Pool) -> None:
        tainted = replace(system, taints=(taint,))
        assert not lands_on(pod(), tainted)
        assert lands_on(pod(Toleration(taint.key, "Exists")), tainted)
        assert lands_on(pod(EVERY_TAINT), tainted)

    def test_every_hard_taint_has_to_be(self, system: Pool) -> None:
        tainted = replace(system, taints=(GPU, DEDICATED))
        assert not lands_on(pod(Toleration(GPU.key, "Exists")), tainted)
        assert lands_on(pod(Toleration(GPU.key, "Exists"), Toleration("dedicated", value="training")), tainted)

    def test_a_soft_taint_repels_no_daemon_set(self, system: Pool) -> None:
        assert lands_on(pod(), replace(system, taints=(SOFT,)))

    def test_every_label_of_the_selector_is_needed(self, system: Pool) -> None:
        labelled = replace(system, labels={"mlcluster.dev/efa": "true", "zone": "a"})
        assert lands_on(pod(selector={"mlcluster.dev/efa": "true"}), labelled)
        assert lands_on(pod(selector={"mlcluster.dev/efa": "true", "zone": "a"}), labelled)
        assert not lands_on(pod(selector={"mlcluster.dev/efa": "false"}), labelled)
        assert not lands_on(pod(selector={"mlcluster.dev/efa": "true", "zone": "b"}), labelled)
        assert not lands_on(pod(EVERY_TAINT, selector={"absent": ""}), labelled)


class TestWithDaemonSets:
    def test_requests_of_daemon_sets_are_subtracted_from_every_node(self, system: Pool) -> None:
        (found,) = with_daemon_sets([system], [pod(), pod(EVERY_TAINT, requests={"cpu": 50})])
        assert found.overhead == {"cpu": 150, "memory": 200, "pods": 1}
        for name, amount in system.allocatable.items():
            assert found.usable[name] == amount - found.overhead.get(name, 0)
        assert found.allocatable == system.allocatable

    def test_resources_that_the_spec_reserves_are_subtracted(self, system: Pool) -> None:
        (found,) = with_daemon_sets([replace(system, overhead={"cpu": 1000, "pods": 2})], [pod()])
        assert found.overhead == {"cpu": 1100, "memory": 200, "pods": 3}

    def test_a_daemon_set_is_subtracted_only_on_its_nodes(self, system: Pool) -> None:
        labelled = replace(system, name="efa", labels={**system.labels, "mlcluster.dev/efa": "true"})
        tainted = replace(system, name="gpu", taints=(GPU,))
        plugin = pod(EVERY_TAINT, selector={"mlcluster.dev/efa": "true"}, requests={"cpu": 7})
        agent = pod(requests={"cpu": 11})
        found = {pool.name: pool.overhead for pool in with_daemon_sets([system, labelled, tainted], [plugin, agent])}
        assert found == {"system": {"cpu": 11}, "efa": {"cpu": 18}, "gpu": {}}

    @pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
    def test_other_pods_are_not_on_every_node(self, kind: str, system: Pool) -> None:
        (found,) = with_daemon_sets([system], [pod(kind=kind)])
        assert found.overhead == {}
        assert found.usable == system.allocatable

    def test_resources_without_a_request_are_omitted(self, system: Pool) -> None:
        (found,) = with_daemon_sets([system], [pod(requests={"cpu": 0, "memory": 5})])
        assert found.overhead == {"memory": 5}

    def test_the_order_of_pools_stays(self, system: Pool) -> None:
        named = [replace(system, name=name) for name in ("b", "a", "c")]
        assert [pool.name for pool in with_daemon_sets(iter(named), iter([pod()]))] == ["b", "a", "c"]

    def test_usable_resources_are_never_negative(self, system: Pool) -> None:
        (found,) = with_daemon_sets([system], [pod(requests={"cpu": system.allocatable["cpu"] + 1})])
        assert found.usable["cpu"] == 0
