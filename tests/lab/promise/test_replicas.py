"""Sets whose number of pods changes after Kueue has counted them."""

from functools import partial
from typing import Any

import pytest

from tests.lab.attacks import as_member, gpus_counted, gpus_on_nodes, refusal, refused
from tests.lab.workloads import Tenant, assert_stays, controller, pod_spec
from tests.waiting import wait_for

pytestmark = pytest.mark.lab


def _scale(team: Tenant, replicas: int, *, subresource: bool = True) -> dict[str, Any]:
    place = "statefulsets/store/scale" if subresource else "statefulsets/store"
    return as_member(team, "PATCH", "apps/v1", place, {"spec": {"replicas": replicas}})


def _autoscaler(kind: str, name: str) -> dict[str, Any]:
    target = {"apiVersion": "apps/v1", "kind": kind, "name": name}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "namespace": "products"},
        "spec": {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 4},
    }


def test_a_stateful_set_keeps_the_replicas_that_kueue_counted(products: Tenant) -> None:
    """Kueue has no webhook for the subresource: scaling up ended the set, and scaling down kept the quota in use."""
    products.submit(controller("StatefulSet", "store", "products", pod_spec(gpus=1), replicas=2))
    wait_for("it runs", lambda: gpus_on_nodes(products.kube, "products") == 2)
    for replicas in (1, 3):
        words = refusal(partial(_scale, products, replicas))
        assert "scale it only to 0 and back to the same number" in words
        refusal(partial(_scale, products, replicas, subresource=False))
    assert_stays("running", lambda: gpus_on_nodes(products.kube, "products") == 2)
    _scale(products, 0)
    wait_for("quota and GPUs are free", lambda: _free(products))
    _scale(products, 2)
    wait_for("it runs again", lambda: gpus_on_nodes(products.kube, "products") == 2)
    wait_for("it is counted again", lambda: gpus_counted(products.kube, "products") == 2)


def _free(team: Tenant) -> bool:
    return gpus_on_nodes(team.kube, "products") == gpus_counted(team.kube, "products") == 0


def test_a_stateful_set_created_without_replicas_scales_to_any_number(products: Tenant) -> None:
    products.submit(controller("StatefulSet", "store", "products", pod_spec(gpus=1), replicas=0))
    _scale(products, 3)
    wait_for("it runs", lambda: gpus_on_nodes(products.kube, "products") == 3)
    wait_for("it is counted", lambda: gpus_counted(products.kube, "products") == 3)


def test_no_autoscaler_on_a_stateful_set(products: Tenant) -> None:
    assert "cannot be autoscaled: use a Deployment" in refused(products, _autoscaler("StatefulSet", "store"))
    old = _autoscaler("StatefulSet", "store")
    old |= {"apiVersion": "autoscaling/v1"}
    assert "cannot be autoscaled: use a Deployment" in refused(products, old)


def test_a_deployment_is_autoscaled_and_counted(products: Tenant) -> None:
    """Below its minimum an autoscaler needs no metrics."""
    products.submit(controller("Deployment", "api", "products", pod_spec(gpus=1), replicas=1))
    wait_for("it runs", lambda: gpus_on_nodes(products.kube, "products") == 1)
    products.submit(_autoscaler("Deployment", "api"))
    try:
        wait_for("it grows", lambda: gpus_on_nodes(products.kube, "products") == 2)
        wait_for("it is counted", lambda: gpus_counted(products.kube, "products") == 2)
    finally:
        products.kube.delete("autoscaling/v2", "HorizontalPodAutoscaler", "api", "products")


@pytest.mark.parametrize("kind", ["ReplicaSet", "ReplicationController"])
def test_pods_of_a_bare_set_are_counted_one_by_one(products: Tenant, kind: str) -> None:
    made = controller(kind, "many", "products", pod_spec(gpus=1), replicas=1)
    if kind == "ReplicationController":
        made |= {"apiVersion": "v1", "spec": {**made["spec"], "selector": {"app": "many"}}}
    products.submit(made)
    wait_for("it runs", lambda: gpus_on_nodes(products.kube, "products") == 1)
    plural = f"{kind.lower()}s/many/scale"
    as_member(products, "PATCH", made["apiVersion"], plural, {"spec": {"replicas": 3}})
    wait_for("it grows", lambda: gpus_on_nodes(products.kube, "products") == 3)
    wait_for("it is counted", lambda: gpus_counted(products.kube, "products") == 3)
    products.kube.delete(made["apiVersion"], kind, "many", "products")
