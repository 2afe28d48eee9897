"""Controllers that adopt objects which Kueue has counted otherwise, or not at all."""

from typing import Any

import pytest

from tests.lab.attacks import as_member, gpus_counted, gpus_on_nodes, refused
from tests.lab.workloads import Tenant, assert_stays, controller, pod, pod_spec
from tests.waiting import wait_for

pytestmark = pytest.mark.lab
PARENT = "kueue.x-k8s.io/pod-suspending-parent"


def _owners(manifest: dict[str, Any] | None) -> list[str]:
    return [owner["kind"] for owner in (manifest or {})["metadata"].get("ownerReferences") or []]


def _replica_set(name: str, namespace: str, spec: dict[str, Any], labels: dict[str, str]) -> dict[str, Any]:
    made = controller("ReplicaSet", name, namespace, spec, replicas=2)
    made["metadata"]["labels"] = labels
    made["spec"]["selector"]["matchLabels"] = made["spec"]["template"]["metadata"]["labels"] = labels
    return made


def test_a_stateful_set_adopts_no_pod_that_waits_for_it(products: Tenant) -> None:
    """Kueue counts bare pods with the annotation of a parent as part of it: 64 GPUs on nodes, 8 counted."""
    waiting = pod("x-7", "products", pod_spec(gpus=8), labels={"app": "x"}, annotations={PARENT: "statefulset"})
    assert "only Kueue sets labels and annotations" in refused(products, waiting)
    for kind in ("ReplicaSet", "Deployment", "DaemonSet", "StatefulSet"):
        made = controller(kind, "marked", "products", pod_spec(gpus=1), replicas=1)
        if kind == "DaemonSet":
            del made["spec"]["replicas"]
        made["spec"]["template"]["metadata"]["annotations"] = {PARENT: "leaderworkerset"}
        if kind == "Deployment":  # Kueue's webhook writes the right one
            assert products.submit(made)["spec"]["template"]["metadata"]["annotations"] == {PARENT: "deployment"}
        else:
            assert "only Kueue sets labels and annotations" in refused(products, made)


def test_a_stateful_set_adopts_no_running_pod(products: Tenant) -> None:
    running = pod("x-7", "products", pod_spec(gpus=8), labels={"app": "x"})
    products.submit(running)
    wait_for("it runs", lambda: gpus_on_nodes(products.kube, "products") == 8)
    products.submit(controller("StatefulSet", "x", "products", pod_spec(gpus=1), replicas=1))
    assert_stays("its own", lambda: not _owners(products.pod("x-7")))
    assert gpus_on_nodes(products.kube, "products") <= gpus_counted(products.kube, "products") + 1


def test_a_replica_set_adopts_no_running_pod(products: Tenant) -> None:
    products.submit(pod("loose", "products", pod_spec(gpus=1), labels={"app": "web"}))
    wait_for("it runs", lambda: gpus_on_nodes(products.kube, "products") == 1)
    products.submit(_replica_set("web", "products", pod_spec(cpu="1"), {"app": "web"}))
    assert_stays("its own", lambda: not _owners(products.pod("loose")))
    products.kube.delete("apps/v1", "ReplicaSet", "web", "products")


def test_a_paused_deployment_adopts_no_replica_set(products: Tenant) -> None:
    """The replica set of a Deployment is trusted to be made of the Deployment's template."""
    products.submit(_replica_set("hand-made", "products", pod_spec(cpu="2"), {"app": "api", "mine": "yes"}))
    deployment = controller("Deployment", "api", "products", pod_spec(cpu="1"), replicas=2)
    products.submit({**deployment, "spec": {**deployment["spec"], "paused": True}})
    assert_stays(
        "its own",
        lambda: not _owners(products.kube.get_object("apps/v1", "ReplicaSet", "hand-made", "products")),
    )
    products.kube.delete("apps/v1", "ReplicaSet", "hand-made", "products")


def test_a_released_pod_is_not_adopted_again(products: Tenant) -> None:
    """A member may change the labels of a pod, and its owner releases it; Kueue counts each pod from the start."""
    products.submit(controller("Deployment", "api", "products", pod_spec(gpus=1), replicas=1))
    name = wait_for("it runs", lambda: gpus_on_nodes(products.kube, "products") == 1 and products.pods(app="api"))[0][
        "metadata"
    ]["name"]
    as_member(products, "PATCH", "v1", f"pods/{name}", {"metadata": {"labels": {"app": "gone"}}})
    wait_for("another one", lambda: gpus_on_nodes(products.kube, "products") == 2)
    wait_for("both are counted", lambda: gpus_counted(products.kube, "products") == 2)
    as_member(products, "PATCH", "v1", f"pods/{name}", {"metadata": {"labels": {"app": "api"}}})
    assert_stays("its own", lambda: not _owners(products.pod(name)))


def test_an_orphan_job_s_pods_are_not_adopted(products: Tenant) -> None:
    """A Job with a selector of its own would adopt existing pods."""
    products.submit(pod("loose", "products", pod_spec(gpus=1), labels={"app": "own"}))
    wait_for("it runs", lambda: gpus_on_nodes(products.kube, "products") == 1)
    made: dict[str, Any] = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "own", "namespace": "products"},
        "spec": {
            "manualSelector": True,
            "selector": {"matchLabels": {"app": "own"}},
            "template": {"metadata": {"labels": {"app": "own"}}, "spec": pod_spec(cpu="1")},
        },
    }
    products.submit(made)
    assert_stays("its own", lambda: not _owners(products.pod("loose")))
