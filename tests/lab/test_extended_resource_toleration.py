"""The accelerator taint with the ExtendedResourceToleration admission plugin on (as EKS has it) and off."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mlcluster.kube.client import Kube
from mlcluster.lab.lab import Lab
from mlcluster.lab.toolchain import Toolchain
from mlcluster.progress import Silent
from tests.lab.workloads import GPU, Tenant, pod, pod_spec
from tests.waiting import wait_for

pytestmark = pytest.mark.lab
AMOUNTS = {"cpu": "192", "memory": "2Ti", "pods": "110", "ephemeral-storage": "50Gi", "nvidia.com/gpu": "8"}
NODE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "gpu-0", "labels": {"type": "kwok", "kubernetes.io/hostname": "gpu-0"}},
    "spec": {"taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]},
    "status": {"capacity": AMOUNTS, "allocatable": AMOUNTS},
}


@pytest.fixture(scope="module")
def tolerant(make_lab: Callable[..., Lab], toolchain: Toolchain) -> Iterator[Lab]:
    """Yield a lab with a GPU node. A start with another setting starts its API server again, and nothing else."""
    lab = make_lab("tolerant")
    lab.start(toolchain, Silent(), extended_resource_toleration=True)
    with Kube.from_kubeconfig(lab.kubeconfig) as kube:
        kube.create(NODE)
    yield lab
    lab.reset(Silent())


@pytest.mark.parametrize("on", [True, False])
def test_gpu_pod_without_toleration(tolerant: Lab, toolchain: Toolchain, on: bool) -> None:
    tolerant.start(toolchain, Silent(), extended_resource_toleration=on)
    with Kube.from_kubeconfig(tolerant.kubeconfig) as kube:
        free = Tenant(kube, "default")
        gpu, cpu = f"gpu-{on}".lower(), f"cpu-{on}".lower()
        made = kube.create(pod(gpu, "default", pod_spec(gpus=1, tolerate=False)))
        assert (GPU in {toleration.get("key") for toleration in made["spec"]["tolerations"]}) is on
        kube.create(pod(cpu, "default", pod_spec()))
        free.assert_pends_because(cpu, "untolerated taint")
        if on:
            wait_for("it runs", lambda: (free.pod(gpu) or {})["status"]["phase"] == "Running")
        else:
            free.assert_pends_because(gpu, "untolerated taint")
