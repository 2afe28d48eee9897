"""The runtimes of TrainJobs: their containers, and the settings to find each other (Trainer v2.3.0, API types).

The job sets its nodes: `runtimePatches` has a node selector, `resourcesPerNode` the accelerators. All runtimes but
`plain` tolerate the accelerator taint, so they need a request for an accelerator.
"""

from collections.abc import Mapping
from typing import Literal

from mlcluster.plan.model import Manifest
from mlcluster.plan.taints import ACCELERATOR_TAINT, toleration_manifests, tolerations
from mlcluster.spec.components.queues import Runtime

API = "trainer.kubeflow.org/v1alpha1"
ANCESTOR = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
"""The label of the replicated job whose containers get the TrainJob's image, command and resources."""

Framework = Literal["torch", "deepspeed", "mpi", "plain"]
TORCH_IMAGE = "docker.io/pytorch/pytorch:2.13.0-cuda13.0-cudnn9-runtime"
MPI_IMAGE = "ghcr.io/kubeflow/trainer/deepspeed-runtime:v2.3.0"
"""The default image for MPI, which needs its SSH server and the user of that server (chart v2.3.0, files/runtimes)."""

DEFAULTS: Mapping[str, Runtime] = {
    "torch": Runtime(framework="torch", image=TORCH_IMAGE),
    "deepspeed": Runtime(framework="deepspeed", image=MPI_IMAGE),
    "mpi": Runtime(framework="mpi", image=MPI_IMAGE),
    "plain": Runtime(framework="plain", image=TORCH_IMAGE),
}
_USER, _SSH_PORT = 1000, 2222
_REQUESTS = {"cpu": "1", "memory": "4Gi"}
"""Requests of a container whose TrainJob names none, because a container with a limit must have a request."""


def runtimes(configured: Mapping[str, Runtime]) -> dict[str, Runtime]:
    """Return every runtime by name: the default runtimes, and those of the spec, which may replace them."""
    return {**DEFAULTS, **configured}


def runtime_body(framework: Framework, image: str) -> Manifest:
    """Return the spec of a ClusterTrainingRuntime."""
    made = {"torch": _torch, "deepspeed": _mpi, "mpi": _mpi, "plain": _plain}[framework](image)
    return {"spec": made}


def _torch(image: str) -> Manifest:
    return {"mlPolicy": {"numNodes": 1, "torch": {}}, "template": {"spec": {"replicatedJobs": [_node(image)]}}}


def _plain(image: str) -> Manifest:
    node = _node(image, tolerant=False)
    return {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": [node]}}}


def _mpi(image: str) -> Manifest:
    """Return a runtime whose first node runs mpirun and participates; the other nodes run an SSH server."""
    user: Manifest = {"securityContext": {"runAsUser": _USER}}
    server: Manifest = {
        **user,
        "command": ["/usr/sbin/sshd"],
        "args": ["-De", "-f", "/home/mpiuser/.sshd_config"],
        "readinessProbe": {"tcpSocket": {"port": _SSH_PORT}, "initialDelaySeconds": 5},
    }
    launcher = {**_node(image, user, name="launcher"), "dependsOn": [{"name": "node", "status": "Ready"}]}
    policy: Manifest = {
        "numProcPerNode": 1,
        "mpiImplementation": "OpenMPI",
        "sshAuthMountPath": "/home/mpiuser/.ssh",
        "runLauncherAsNode": True,
    }
    return {
        "mlPolicy": {"numNodes": 1, "mpi": policy},
        "template": {
            "spec": {
                "network": {"publishNotReadyAddresses": True},
                "successPolicy": {"operator": "All", "targetReplicatedJobs": ["launcher"]},
                "replicatedJobs": [_node(image, server, step=False), launcher],
            }
        },
    }


def _node(
    image: str, more: Manifest | None = None, *, name: str = "node", step: bool = True, tolerant: bool = True
) -> Manifest:
    """Return a replicated job of one container; `more` has fields of the container for the user of MPI."""
    main = {"name": "node", "image": image, "resources": {"requests": _REQUESTS}, **(more or {})}
    pod: Manifest = {"restartPolicy": "Never", "containers": [main]}
    if more:
        pod["securityContext"] = {"fsGroup": _USER}
    if tolerant:
        pod["tolerations"] = toleration_manifests(tolerations([ACCELERATOR_TAINT]))
    template: Manifest = {"spec": {"backoffLimit": 0, "template": {"spec": pod}}}
    if step:
        template = {"metadata": {"labels": ANCESTOR}, **template}
    return {"name": name, "template": template}
