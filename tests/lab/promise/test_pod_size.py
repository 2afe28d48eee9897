"""Pods that no node can hold: Kueue admits them, because it counts the nodes of a pool together."""

from typing import Any

import pytest

from tests.lab.attacks import refused
from tests.lab.workloads import Tenant, container, controller, job, pod, pod_spec
from tests.waiting import wait_for

pytestmark = pytest.mark.lab
NONE = "no node can hold this pod"


def test_more_gpus_than_a_node_has(products: Tenant) -> None:
    for manifest in (
        pod("big", "products", pod_spec(gpus=16)),
        job("big", "products", pod_spec(gpus=9)),
        controller("Deployment", "big", "products", pod_spec(gpus=16), replicas=1),
    ):
        message = refused(products, manifest)
        assert NONE in message
        assert "8 nvidia.com/gpu" in message  # the largest size that fits


def test_containers_of_a_pod_add_up(products: Tenant) -> None:
    two = [{**container(gpus=5), "name": name} for name in ("a", "b")]
    assert NONE in refused(products, pod("two", "products", {**pod_spec(gpus=1), "containers": two}))
    sidecar = {**container(gpus=5), "name": "side", "restartPolicy": "Always"}
    assert NONE in refused(products, pod("side", "products", {**pod_spec(gpus=5), "initContainers": [sidecar]}))
    first = {**container(gpus=5), "name": "first"}
    products.submit(pod("one-by-one", "products", {**pod_spec(gpus=5), "initContainers": [first]}))
    wait_for("it runs", lambda: (products.pod("one-by-one") or {})["status"]["phase"] == "Running")


@pytest.mark.parametrize("more", [{"cpu": "9"}, {"memory": "40Gi"}])
def test_more_than_a_node_without_gpus_has(products: Tenant, more: dict[str, Any]) -> None:
    """A GPU node would hold it, and is for GPU pods only."""
    assert NONE in refused(products, job("big", "products", pod_spec(**more)))


def test_requests_of_a_pod_as_a_whole_count(products: Tenant) -> None:
    whole: dict[str, Any] = {**pod_spec(), "resources": {"requests": {"cpu": "9"}, "limits": {"cpu": "9"}}}
    assert NONE in refused(products, job("whole", "products", whole))


def test_a_pool_without_the_device_is_not_the_largest(students: Tenant) -> None:
    """Students have no share in the pool `train`, whose nodes would hold the pod."""
    assert NONE in refused(students, job("other", "students", pod_spec(cpu="90")))


def test_a_pod_of_a_whole_node_runs(products: Tenant) -> None:
    products.submit(job("whole", "products", pod_spec(gpus=8, cpu="190", memory="1800Gi")))
    wait_for("it runs", lambda: products.running("whole") == 1)
