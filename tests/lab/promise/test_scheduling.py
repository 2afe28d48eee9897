"""What lands where, decided by the real scheduler."""

import pytest

from mlcluster.plan import names
from tests.lab.promise.conftest import Cluster
from tests.lab.workloads import GPU_TOLERATION, Tenant, job, pod, pod_spec, stays, wait_for

pytestmark = pytest.mark.lab
TRAIN = {names.POOL: "train"}
DEDICATED = {"key": "dedicated", "operator": "Equal", "value": "training", "effect": "NoSchedule"}


@pytest.fixture
def free(cluster: Cluster) -> Tenant:
    """A namespace of no team: the scheduler alone decides there."""
    return Tenant(cluster.kube, "default")


def test_pod_without_toleration_waits_before_a_tainted_pool(free: Tenant) -> None:
    free.kube.create(pod("no-toleration", "default", pod_spec(gpus=1, nodeSelector=TRAIN)))
    free.must_pend_because("no-toleration", "untolerated taint")
    stays("pending", lambda: (free.pod("no-toleration") or {})["status"]["phase"] == "Pending")
    free.clean()


def test_pod_with_toleration_and_affinity_runs_there(free: Tenant) -> None:
    affinity = {"matchExpressions": [{"key": "ml-purpose", "operator": "In", "values": ["training"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [affinity]}}
    spec = pod_spec(gpus=1, affinity={"nodeAffinity": required}, tolerations=[GPU_TOLERATION, DEDICATED])
    free.kube.create(pod("tolerant", "default", spec))
    wait_for("running", lambda: (free.pod("tolerant") or {}).get("status", {}).get("phase") == "Running")
    assert (free.pod("tolerant") or {})["spec"]["nodeName"].startswith("train-")
    free.clean()


def test_accelerator_taint_keeps_gpu_pods_without_toleration_out(free: Tenant) -> None:
    spec = pod_spec(gpus=1, tolerate=False, nodeSelector=TRAIN, tolerations=[DEDICATED])
    free.kube.create(pod("gpu-only", "default", spec))
    free.must_pend_because("gpu-only", "untolerated taint")
    free.clean()


def test_cpu_pods_never_land_on_gpu_nodes(research: Tenant) -> None:
    """Forty CPU pods of 1 CPU are more than the CPU pool holds: the rest waits instead of overflowing."""
    research.submit(job("many", "research", pod_spec(cpu="900m"), pods=8))
    research.submit(job("more", "research", pod_spec(cpu="3"), pods=20))
    wait_for("the first job runs", lambda: research.running("many") == 8)
    wait_for("a reason", lambda: research.waits_because("more"))
    nodes = {entry["spec"].get("nodeName", "") for entry in research.pods()}
    assert {name.rpartition("-")[0] for name in nodes} == {"system"}


def test_simulated_nodes_carry_what_the_pool_says(cluster: Cluster) -> None:
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
