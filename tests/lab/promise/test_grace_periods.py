"""Long grace periods: a pod that ends slowly keeps GPUs that Kueue has already assigned to another team."""

from typing import Any

import pytest

from mlcluster.kube.errors import ApiError
from mlcluster.lab.stages import USES_GRACE_PERIOD
from mlcluster.plan import names
from tests.lab.attacks import as_member, gpus_counted, gpus_on_nodes, refusal, refused, refused_change
from tests.lab.workloads import Tenant, assert_stays, controller, job, pod, pod_spec
from tests.waiting import wait_for

pytestmark = pytest.mark.lab
DAY = 86_400
SLOW: dict[str, Any] = {"terminationGracePeriodSeconds": DAY}
WORDS = "may take at most 600 s"


def test_simulated_pods_use_their_grace_period_if_annotated(products: Tenant) -> None:
    """The problem behind the other tests of this module: quota is free while the GPUs are still in use."""
    spec = pod_spec(gpus=8, terminationGracePeriodSeconds=4)
    made = job("slow", "products", spec)
    made["spec"]["template"]["metadata"] = {"annotations": {USES_GRACE_PERIOD: "true"}}
    products.submit(made)
    wait_for("it runs", lambda: products.running("slow") == 1)
    products.kube.delete("batch/v1", "Job", "slow", "products")
    wait_for("the quota is free", lambda: gpus_counted(products.kube, "products") == 0)
    assert gpus_on_nodes(products.kube, "products") == 8
    wait_for("the GPUs are free", lambda: gpus_on_nodes(products.kube, "products") == 0)


def test_every_template_is_bounded(products: Tenant) -> None:
    cron = job("late", "products", pod_spec(**SLOW))
    scheduled: dict[str, Any] = {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": cron["spec"]}}
    daemons = controller("DaemonSet", "late", "products", pod_spec(**SLOW), replicas=1)
    del daemons["spec"]["replicas"]
    old = controller("ReplicationController", "late", "products", pod_spec(**SLOW), replicas=1)
    old |= {"apiVersion": "v1", "spec": {**old["spec"], "selector": {"app": "late"}}}
    attempts = [
        pod("late", "products", pod_spec(gpus=1, **SLOW)),
        cron,
        {**cron, "kind": "CronJob", "spec": scheduled},
        daemons,
        old,
        *(
            controller(kind, "late", "products", pod_spec(gpus=1, **SLOW), replicas=1)
            for kind in ("Deployment", "StatefulSet", "ReplicaSet")
        ),
    ]
    for manifest in attempts:
        assert WORDS in refused(products, manifest), manifest["kind"]
    products.submit(pod("short", "products", pod_spec(cpu="1", terminationGracePeriodSeconds=600)))


def test_a_template_does_not_gain_a_long_grace_period(products: Tenant) -> None:
    products.submit(controller("Deployment", "api", "products", pod_spec(cpu="1"), replicas=1))
    change = {"spec": {"template": {"spec": SLOW}}}
    assert WORDS in refused_change(products, "apps/v1", "deployments/api", change)


def test_deletions_and_evictions_are_bounded(products: Tenant) -> None:
    products.submit(pod("kept", "products", pod_spec(gpus=1)))
    wait_for("it runs", lambda: gpus_on_nodes(products.kube, "products") == 1)
    late = {"gracePeriodSeconds": DAY}
    deletion = "the grace period of a deletion is at most 600 s"
    assert deletion in refusal(lambda: as_member(products, "DELETE", "v1", "pods/kept", late))
    assert deletion in refusal(lambda: as_member(products, "DELETE", "v1", "pods/kept", gracePeriodSeconds=str(DAY)))
    assert deletion in refusal(lambda: as_member(products, "DELETE", "v1", "pods", late))  # a collection
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "kept"}, "deleteOptions": late}
    assert "the grace period of an eviction" in refusal(
        lambda: as_member(products, "POST", "v1", "pods/kept/eviction", eviction)
    )
    assert_stays("there", lambda: not (products.pod("kept") or {})["metadata"].get("deletionTimestamp"))
    as_member(products, "DELETE", "v1", "pods/kept", {"gracePeriodSeconds": 600})


def test_an_administrator_may_wait_longer(products: Tenant) -> None:
    """Administrators may drain nodes with long grace periods."""
    products.submit(pod("kept", "products", pod_spec(gpus=1)))
    wait_for("it runs", lambda: gpus_on_nodes(products.kube, "products") == 1)
    path = "/api/v1/namespaces/products/pods/kept"
    deleted = products.kube.request("DELETE", path, {"gracePeriodSeconds": DAY})
    assert deleted["metadata"]["deletionGracePeriodSeconds"] == DAY
    wait_for("its end", lambda: products.pod("kept") is None)


def _bound(team: Tenant, seconds: int) -> None:
    change = {"metadata": {"annotations": {names.GRACE_PERIOD: str(seconds)}}}
    path = f"/api/v1/namespaces/{team.namespace}"
    team.kube.request("PATCH", path, change, content_type="application/merge-patch+json")


def test_existing_pods_end_with_their_accepted_grace_period(products: Tenant) -> None:
    """The API server adds the pod's own period to each deletion, also to those of the ReplicaSet controller."""
    made = controller("Deployment", "api", "products", pod_spec(gpus=1, terminationGracePeriodSeconds=600), replicas=2)
    products.submit(made)
    wait_for("it runs", lambda: gpus_on_nodes(products.kube, "products") == 2)
    _bound(products, 60)
    try:
        wait_for("the new bound", lambda: _is_bounded(products))
        as_member(products, "PATCH", "apps/v1", "deployments/api/scale", {"spec": {"replicas": 1}})
        wait_for("it shrinks", lambda: gpus_on_nodes(products.kube, "products") == 1)
        products.kube.delete("apps/v1", "Deployment", "api", "products")
        wait_for("its end", lambda: gpus_on_nodes(products.kube, "products") == 0)
    finally:
        _bound(products, 600)
        wait_for("the old bound", lambda: not _is_bounded(products))


def _is_bounded(team: Tenant) -> bool:
    tried = pod("tried", team.namespace, pod_spec(cpu="1", terminationGracePeriodSeconds=600))
    try:
        team.kube.create(tried, dry_run=True)
    except ApiError as error:
        return "may take at most 60 s" in error.message
    return False
