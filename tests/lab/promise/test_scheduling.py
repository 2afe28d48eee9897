"""Placement of pods by the real scheduler."""

from typing import Any

import pytest

from mlcluster.plan import names
from tests.lab.promise.conftest import Cluster
from tests.lab.workloads import GPU_TOLERATION, Tenant, assert_stays, controller, job, pod, pod_spec
from tests.waiting import wait_for

pytestmark = pytest.mark.lab
TRAIN = {names.POOL: "train"}
DEDICATED = {"key": "dedicated", "operator": "Equal", "value": "training", "effect": "NoSchedule"}


@pytest.fixture
def free(cluster: Cluster) -> Tenant:
    """Return a namespace of no team: the scheduler alone decides there."""
    return Tenant(cluster.kube, "default")


def test_pod_without_toleration_waits_before_a_tainted_pool(free: Tenant) -> None:
    free.kube.create(pod("no-toleration", "default", pod_spec(gpus=1, nodeSelector=TRAIN)))
    free.assert_pends_because("no-toleration", "untolerated taint")
    assert_stays("pending", lambda: (free.pod("no-toleration") or {})["status"]["phase"] == "Pending")
    free.clean()


def test_a_pod_with_toleration_and_affinity_runs_on_the_tainted_pool(free: Tenant) -> None:
    affinity = {"matchExpressions": [{"key": "ml-purpose", "operator": "In", "values": ["training"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [affinity]}}
    spec = pod_spec(gpus=1, affinity={"nodeAffinity": required}, tolerations=[GPU_TOLERATION, DEDICATED])
    free.kube.create(pod("tolerant", "default", spec))
    wait_for("running", lambda: (free.pod("tolerant") or {}).get("status", {}).get("phase") == "Running")
    assert (free.pod("tolerant") or {})["spec"]["nodeName"].startswith("train-")
    free.clean()


def test_a_gpu_pod_needs_no_toleration_of_the_accelerator_taint(free: Tenant) -> None:
    """The ExtendedResourceToleration plugin, on by default as on EKS, adds it."""
    spec = pod_spec(gpus=1, tolerate=False, nodeSelector=TRAIN, tolerations=[DEDICATED])
    free.kube.create(pod("gpu-only", "default", spec))
    wait_for("running", lambda: (free.pod("gpu-only") or {}).get("status", {}).get("phase") == "Running")
    free.clean()


def test_a_pod_of_a_mig_instance_needs_the_toleration(free: Tenant) -> None:
    """The plugin adds a toleration with the resource's own name as its key, and the taint is nvidia.com/gpu."""
    spec = pod_spec(nodeSelector={names.POOL: "shared"})
    mig = {"nvidia.com/mig-1g.5gb": "1"}
    spec["containers"][0]["resources"] = {"requests": {"cpu": "1", "memory": "1Gi", **mig}, "limits": mig}
    free.kube.create(pod("mig", "default", spec))
    free.assert_pends_because("mig", "untolerated taint")
    free.clean()


def test_a_job_without_the_toleration_waits_in_the_queue(research: Tenant) -> None:
    """Kueue compares the flavors' taints with the Job's template, to which no admission plugin adds a toleration."""
    research.submit(job("bare", "research", pod_spec(gpus=1, tolerate=False)))
    research.assert_waits_because("bare", "untolerated taint")
    research.submit(job("full", "research", pod_spec(gpus=1)))
    wait_for("the other runs", lambda: research.running("full") == 1)
    assert research.running("bare") == 0


def test_pods_and_deployments_of_a_team_run_without_the_toleration(research: Tenant) -> None:
    """Kueue queues their pods themselves, which have the toleration by then."""
    research.submit(pod("lone", "research", pod_spec(gpus=1, tolerate=False)))
    research.submit(controller("Deployment", "served", "research", pod_spec(gpus=1, tolerate=False), 1))
    wait_for("the pod runs", lambda: (research.pod("lone") or {})["status"]["phase"] == "Running")
    wait_for("the Deployment runs", lambda: [_phase(entry) for entry in research.pods(app="served")] == ["Running"])


def _phase(found: dict[str, Any]) -> str:
    return str(found["status"].get("phase"))


def test_cpu_pods_never_land_on_gpu_nodes(research: Tenant) -> None:
    """Forty CPU pods of 1 CPU are more than the CPU pool holds: the rest waits instead of overflowing."""
    research.submit(job("many", "research", pod_spec(cpu="900m"), pods=8))
    research.submit(job("more", "research", pod_spec(cpu="3"), pods=20))
    wait_for("the first job runs", lambda: research.running("many") == 8)
    wait_for("a reason", lambda: research.waits_because("more"))
    nodes = {entry["spec"].get("nodeName", "") for entry in research.pods()}
    assert {name.rpartition("-")[0] for name in nodes} == {"system"}


def test_simulated_nodes_have_the_labels_and_taints_of_the_pool(cluster: Cluster) -> None:
    nodes = {node["metadata"]["name"]: node for node in cluster.kube.list("v1", "Node")}
    assert len(nodes) == 14
    train = nodes["train-0"]
    assert train["status"]["allocatable"]["nvidia.com/gpu"] == "8"
    assert train["status"]["allocatable"]["vpc.amazonaws.com/efa"] == "32"
    assert train["status"]["allocatable"]["rdma/hca"] == "8"
    assert train["metadata"]["labels"]["node.kubernetes.io/instance-type"] == "p5.48xlarge"
    assert train["metadata"]["labels"]["nvidia.com/gpu.product"] == "NVIDIA-H100-80GB-HBM3"
    assert {taint["key"] for taint in train["spec"]["taints"]} == {"dedicated", "nvidia.com/gpu"}
    assert nodes["shared-0"]["status"]["allocatable"]["nvidia.com/mig-1g.5gb"] == "56"
    assert {nodes[f"system-{index}"]["metadata"]["labels"]["topology.kubernetes.io/zone"] for index in range(4)} == {
        "local-a",
        "local-b",
    }
