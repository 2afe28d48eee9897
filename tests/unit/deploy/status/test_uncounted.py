"""What pods use on nodes beyond what Kueue counts."""

from typing import Any, cast

import pytest

from mlcluster.deploy.status.uncounted import pod_requests, uncounted
from mlcluster.kube.client import Kube

pytestmark = pytest.mark.unit
GPU = "nvidia.com/gpu"


def amounts(requests: dict[str, str]) -> dict[str, str]:
    """Requests by the names of resources; a keyword cannot hold those of GPUs."""
    return {name.replace("gpu", GPU): text for name, text in requests.items()}


def container(**requests: str) -> dict[str, Any]:
    return {"name": "main", "resources": {"requests": amounts(requests)}}


def pod(
    *containers: dict[str, Any],
    init: tuple[dict[str, Any], ...] = (),
    node: str = "n",
    phase: str = "Running",
    **metadata: Any,
) -> dict[str, Any]:
    spec = {"containers": list(containers), "initContainers": list(init), **({"nodeName": node} if node else {})}
    return {"metadata": {"name": "p", **metadata}, "spec": spec, "status": {"phase": phase}}


class Answers:
    """What the API server lists: pods, then workloads, look after look; the last look is given again and again."""

    def __init__(self, *looks: tuple[list[dict[str, Any]], list[dict[str, Any]]]) -> None:
        self.looks = list(looks)
        self.asked = 0

    def list(self, _api_version: str, kind: str, namespace: str) -> list[dict[str, Any]]:
        assert namespace == "research"
        pods, workloads = self.looks[min(self.asked // 2, len(self.looks) - 1)]
        self.asked += 1
        return pods if kind == "Pod" else workloads


def workload(count: int = 1, *, finished: bool = False, **usage: str) -> dict[str, Any]:
    part = {"count": count, "resourceUsage": amounts(usage)}
    conditions = [{"type": "Finished", "status": "True"}] if finished else []
    return {"metadata": {"name": "w"}, "status": {"admission": {"podSetAssignments": [part]}, "conditions": conditions}}


def found(*looks: tuple[list[dict[str, Any]], list[dict[str, Any]]]) -> dict[str, str]:
    return uncounted(cast("Kube", Answers(*looks)), "research", 600)


def test_what_is_admitted_is_counted() -> None:
    assert found(([pod(container(cpu="1500m", gpu="8"))], [workload(cpu="1500m", gpu="8")])) == {}


def test_what_a_pod_uses_without_a_workload_is_not() -> None:
    pods = [pod(container(cpu="2", memory="1Gi", gpu="8")), pod(container(gpu="1"))]
    assert found((pods, [workload(gpu="1")])) == {"cpu": "2", "memory": "1Gi", "pods": "1", GPU: "8"}


def test_a_workload_that_is_finished_or_waits_counts_nothing() -> None:
    pods = [pod(container(gpu="1"))]
    waits = {"metadata": {"name": "w"}, "status": {"conditions": []}}
    assert found((pods, [workload(gpu="1", finished=True), waits])) == {"pods": "1", GPU: "1"}


@pytest.mark.parametrize(
    "unseen",
    [
        pod(container(gpu="1"), node=""),
        pod(container(gpu="1"), phase="Succeeded"),
        pod(container(gpu="1"), deletionTimestamp="now", deletionGracePeriodSeconds=30),
    ],
    ids=["pending", "ended", "leaving"],
)
def test_a_pod_that_holds_nothing_or_leaves_soon_is_left_out(unseen: dict[str, Any]) -> None:
    assert found(([unseen], [])) == {}


def test_a_pod_that_leaves_late_is_seen() -> None:
    late = pod(container(gpu="1"), deletionTimestamp="now", deletionGracePeriodSeconds=86400)
    assert found(([late], []))[GPU] == "1"


def test_a_pod_that_ends_between_the_looks_is_no_alarm() -> None:
    running = [pod(container(gpu="1"))]
    assert found((running, [workload(gpu="1", finished=True)]), ([], [])) == {}


def test_the_requests_of_a_pod_are_those_of_its_largest_moment() -> None:
    asked = pod_requests(pod(container(cpu="1", gpu="2"), container(cpu="1"), init=(container(cpu="3", memory="1Gi"),)))
    assert asked == {"cpu": 3000, "memory": 1024, GPU: 2, "pods": 1}


def test_hugepages_are_not_compared() -> None:
    huge = {"name": "main", "resources": {"requests": {"hugepages-2Mi": "5Gi", "cpu": "1"}}}
    assert pod_requests(pod(huge)) == {"cpu": 1000, "pods": 1}
