"""Forged labels and annotations of Kueue."""

from functools import partial
from typing import Any

import pytest

from mlcluster.plan import names
from tests.lab.attacks import as_member, refusal, refused
from tests.lab.workloads import Tenant, controller, job, pod, pod_spec
from tests.waiting import wait_for

pytestmark = pytest.mark.lab
ONLY_KUEUE = "only Kueue sets labels and annotations"
PREBUILT = {"kueue.x-k8s.io/prebuilt-workload-name": "another"}
FORGED = [
    PREBUILT,
    {"kueue.x-k8s.io/podset": "main"},
    {"kueue.x-k8s.io/multikueue-origin": "elsewhere"},
    {"kueue.x-k8s.io/managed": "false"},
    {"kueue.x-k8s.io/priority-boost": "100000"},
    {"kueue.x-k8s.io/safe-to-forcefully-delete": "true"},
    {"kueue.x-k8s.io/workload": "another"},
    {"kueue.x-k8s.io/workload-slice-name": "another"},
    {"provreq.kueue.x-k8s.io/class": "another"},
]


@pytest.mark.parametrize("part", ["labels", "annotations"])
def test_forged_marks_are_refused_on_creation(products: Tenant, part: str) -> None:
    for mark in FORGED:
        made = job("forged", "products", pod_spec(gpus=1))
        made["metadata"][part] = mark
        assert ONLY_KUEUE in refused(products, made), mark
        if part == "labels" and "kueue.x-k8s.io/managed" in mark:
            continue  # Kueue's webhook has put its own value there
        assert ONLY_KUEUE in refused(products, pod("forged", "products", pod_spec(gpus=1), **{part: mark})), mark


def test_marks_in_templates_and_scheduled_jobs_are_rejected(products: Tenant) -> None:
    """The CronJob controller copies the metadata of its template to its Jobs."""
    inside = job("inside", "products", pod_spec(gpus=1))
    inside["spec"]["template"]["metadata"] = {"annotations": PREBUILT}
    assert ONLY_KUEUE in refused(products, inside)
    made: dict[str, Any] = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "scheduled", "namespace": "products"},
        "spec": {
            "schedule": "0 0 1 1 *",
            "jobTemplate": {"metadata": {"labels": PREBUILT}, "spec": job("x", "x", pod_spec())["spec"]},
        },
    }
    assert ONLY_KUEUE in refused(products, made)
    for kind in ("Deployment", "StatefulSet", "ReplicaSet"):
        marked = controller(kind, "marked", "products", pod_spec(gpus=1), replicas=1)
        marked["spec"]["template"]["metadata"]["labels"] |= PREBUILT
        assert ONLY_KUEUE in refused(products, marked), kind


def test_a_waiting_job_cannot_take_the_workload_of_another(products: Tenant) -> None:
    products.submit(job("waiting", "products", pod_spec(gpus=8), pods=6))
    wait_for("it is queued", lambda: products.workload("waiting"))
    for part in ("labels", "annotations"):
        change = {"metadata": {part: PREBUILT}}
        assert ONLY_KUEUE in refusal(partial(as_member, products, "PATCH", "batch/v1", "jobs/waiting", change))


def test_requests_of_topology_and_time_are_members_own(products: Tenant) -> None:
    made = job("described", "products", pod_spec(cpu="1"), tier="best-effort-experiment")
    made["metadata"]["labels"] |= {
        "kueue.x-k8s.io/max-exec-time-seconds": "600",
        names.QUEUE_NAME: "default",
    }
    products.submit(made)
    wait_for("it runs", lambda: products.running("described") == 1)
    change = {"metadata": {"labels": {"mine": "yes"}}}  # Kueue has written its own into the template meanwhile
    changed = as_member(products, "PATCH", "batch/v1", "jobs/described", change)
    assert changed["metadata"]["labels"]["mine"] == "yes"
