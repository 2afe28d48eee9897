"""Work that avoids the queue is reported, however it came in: `mlcluster status` compares nodes with Kueue."""

import json
from typing import Any

import pytest

from tests.lab.promise.conftest import Cluster
from tests.lab.workloads import GPU, Tenant, create_as, job, pod, pod_spec
from tests.waiting import wait_for

pytestmark = pytest.mark.lab

JOB_CONTROLLER = "system:serviceaccount:kube-system:job-controller"


def team_of(cluster: Cluster, name: str) -> dict[str, Any]:
    """Return a team in the status document."""
    found = json.loads(cluster.run("status", str(cluster.spec), "-o", "json").stdout)
    return next(team for team in found["teams"] if team["name"] == name)


def test_pods_beside_the_queue_are_reported(cluster: Cluster, research: Tenant) -> None:
    """A cluster-admin acts as the Job controller: policies and Kueue take the pod for a part of an admitted Job."""
    made = research.submit(job("small", "research", pod_spec(gpus=1)))
    wait_for("the Job runs", lambda: research.running("small") == 1)
    uid = made["metadata"]["uid"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "small", "uid": uid, "controller": True}
    sneaky = pod("sneaky", "research", pod_spec(gpus=8, nodeSelector={"mlcluster.dev/pool": "train"}))
    sneaky["metadata"]["ownerReferences"] = [owner]
    sneaky["spec"]["tolerations"].append({"key": "dedicated", "operator": "Exists"})
    create_as(research.kube, sneaky, JOB_CONTROLLER, ["system:masters"])
    wait_for("it runs", lambda: ((research.pod("sneaky") or {}).get("status") or {}).get("phase") == "Running")
    found = team_of(cluster, "research")
    assert (found["uncounted"][GPU], found["ready"]) == ("8", False)
    assert "pods on nodes request more than Kueue counts" in found["detail"]
    drifted = cluster.run("status", str(cluster.spec), "--fail-on-drift", ok=False)
    assert drifted.returncode == 4
    assert "8 nvidia.com/gpu" in drifted.stdout


def test_admitted_pods_are_counted(cluster: Cluster, research: Tenant) -> None:
    """Jobs of several pods, a pod with an init container, one without requests, one that waits, one that has ended."""
    research.submit(job("gang", "research", pod_spec(gpus=8), pods=2))
    whole = pod_spec(gpus=1, restartPolicy="Always")
    whole["initContainers"] = [{**pod_spec(gpus=1, cpu="3")["containers"][0], "name": "first"}]
    research.submit(pod("notebook", "research", whole))
    research.submit(pod("modest", "research", {"containers": [{"name": "main", "image": "example.test/none"}]}))
    research.submit(job("waits", "research", pod_spec(gpus=8), pods=7))
    wait_for("the gang runs", lambda: research.running("gang") == 2)
    for name in ("notebook", "modest"):
        wait_for(name, lambda: ((research.pod(name) or {}).get("status") or {}).get("phase") == "Running")  # noqa: B023
    found = team_of(cluster, "research")
    assert (found["uncounted"], found["ready"]) == ({}, True)


def test_pending_pods_count_in_the_resource_quota(cluster: Cluster, products: Tenant) -> None:
    """Why the ResourceQuota is larger than the share: a pod behind Kueue's gate uses it up as a running one does."""
    products.submit(job("full", "products", pod_spec(gpus=8), pods=5))
    wait_for("all that the team may use", lambda: products.running("full") == 5)
    products.submit(pod("waits", "products", pod_spec(gpus=8)))
    products.assert_waits_because("waits", "insufficient unused quota")

    def used() -> str:
        quota = products.kube.get_object("v1", "ResourceQuota", "team", "products") or {}
        return str(quota["status"]["used"][f"requests.{GPU}"])

    wait_for("48 GPUs of a share of 40", lambda: used() == "48")
    assert team_of(cluster, "products")["uncounted"] == {}
