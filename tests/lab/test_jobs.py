"""Kinds of jobs with a controller of their own, from `up` to `down`: the real controllers, held back by the real Kueue.

Members of a team submit them, under the policies of its namespace.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from mlcluster.kube.client import Kube
from mlcluster.kube.errors import ApiError
from mlcluster.lab.lab import Lab
from mlcluster.lab.stages import RUN_FOR
from tests.lab.workloads import KUEUE, Tenant, container, environment, pod_spec
from tests.waiting import wait_for

pytestmark = pytest.mark.lab

TEAM = "research"
CONTROLLERS = ("jobset", "kubeflow-trainer", "mpi-operator", "kuberay-operator")
COMPONENTS: dict[str, Any] = {"jobSet": {}, "trainer": {}, "mpiOperator": {}, "kubeRay": {}, "leaderWorkerSet": {}}
GUARANTEE = {"train": {"nodes": 2}, "system": {"nodes": 1}}
SPEC: dict[str, Any] = {
    "apiVersion": "mlcluster/v1alpha1",
    "kind": "Cluster",
    "metadata": {"name": "jobs"},
    "target": {"kind": "local"},
    "nodePools": [
        {"name": "system", "instanceType": "m7i.2xlarge", "minSize": 2, "maxSize": 2},
        {"name": "train", "instanceType": "p5.48xlarge", "maxSize": 2},
    ],
    "teams": [{"name": TEAM, "guarantee": GUARANTEE, "members": {"edit": {"groups": [f"ml-{TEAM}"]}}}],
    "components": COMPONENTS,
}


def thing(api_version: str, kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": TEAM}, "spec": spec}


def job_set(name: str) -> dict[str, Any]:
    template = {"spec": {"parallelism": 1, "completions": 1, "template": {"spec": pod_spec(gpus=8)}}}
    jobs = [{"name": "workers", "replicas": 2, "template": template}]
    return thing("jobset.x-k8s.io/v1alpha2", "JobSet", name, {"replicatedJobs": jobs})


def train_job(name: str) -> dict[str, Any]:
    trainer = {"numNodes": 2, "numProcPerNode": 8, "resourcesPerNode": container(gpus=8)["resources"]}
    spec = {"runtimeRef": {"name": "torch"}, "trainer": trainer}
    return thing("trainer.kubeflow.org/v1alpha1", "TrainJob", name, spec)


def mpi_job(name: str) -> dict[str, Any]:
    replicas = {
        "Launcher": {"replicas": 1, "template": {"spec": pod_spec()}},
        "Worker": {"replicas": 2, "template": {"spec": pod_spec(gpus=8)}},
    }
    ends = {"runPolicy": {"cleanPodPolicy": "Running"}}
    return thing("kubeflow.org/v2beta1", "MPIJob", name, {**ends, "slotsPerWorker": 8, "mpiReplicaSpecs": replicas})


def ray_cluster(name: str) -> dict[str, Any]:
    always = {"restartPolicy": "Always"}
    head = {"rayStartParams": {}, "template": {"spec": {**pod_spec(), **always}}}
    workers = {"spec": {**pod_spec(gpus=8), **always}}
    group = {"groupName": "gpu", "replicas": 2, "minReplicas": 2, "maxReplicas": 2, "template": workers}
    groups = [{**group, "rayStartParams": {}}]
    return thing(
        "ray.io/v1", "RayCluster", name, {"rayVersion": "2.46.0", "headGroupSpec": head, "workerGroupSpecs": groups}
    )


def ray_job(name: str) -> dict[str, Any]:
    """Return a RayJob with its cluster and the pod that submits to it."""
    spec = {"entrypoint": "python train.py", "rayClusterSpec": ray_cluster(name)["spec"]}
    return thing("ray.io/v1", "RayJob", name, {**spec, "shutdownAfterJobFinishes": True})


@dataclass(frozen=True)
class Kind:
    """A kind of job: how one with 16 GPUs is written, and how many pods it has."""

    make: Callable[[str], dict[str, Any]]
    pods: int


KINDS = {
    "jobset": Kind(job_set, 2),
    "trainjob": Kind(train_job, 2),
    "mpijob": Kind(mpi_job, 3),
    "raycluster": Kind(ray_cluster, 3),
    "rayjob": Kind(ray_job, 4),
}


@dataclass(frozen=True)
class Cluster:
    """The running cluster, its team, and the command line."""

    lab: Lab
    kube: Kube
    team: Tenant
    spec: Path
    state: Path

    def run(self, *arguments: str, refused: bool = False) -> str:
        return run(self.state, *arguments, refused=refused)

    def write(self, **components: Any) -> None:
        """Write another spec with these components."""
        self.spec.write_text(json.dumps({**SPEC, "components": components}))

    def pids(self) -> dict[str, int]:
        """Return components that run."""
        return {found.name: found.pid for found in self.lab.status().processes if found.pid}

    def running(self, job: str) -> list[str]:
        """Return nodes of the running pods of a job: all pods are called after it."""
        found = [entry for entry in self.team.pods() if entry["metadata"]["name"].startswith(f"{job}-")]
        return [entry["spec"]["nodeName"] for entry in found if (entry.get("status") or {}).get("phase") == "Running"]

    def delete(self, manifest: dict[str, Any]) -> None:
        self.kube.delete(manifest["apiVersion"], manifest["kind"], manifest["metadata"]["name"], TEAM)


def run(state: Path, *arguments: str, refused: bool = False) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "mlcluster", *arguments],
        check=False, capture_output=True, text=True, env=environment(state), stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert (done.returncode != 0) is refused, done.stdout + done.stderr
    return done.stdout + done.stderr


@contextmanager
def job_kinds_cluster(state: Path) -> Iterator[Cluster]:
    """Bring the cluster of `SPEC` up; delete its lab at the end, if it is there still."""
    spec = state / "jobs.yaml"
    spec.write_text(json.dumps(SPEC))
    lab = Lab("jobs", state / "labs" / "jobs")
    try:
        run(state, "up", str(spec), "--yes")
        with Kube.from_kubeconfig(lab.kubeconfig) as kube:
            yield Cluster(lab, kube, Tenant(kube, TEAM), spec, state)
    finally:
        if lab.layout.root.exists():
            run(state, "lab", "reset", "--name", "jobs", "--yes")


@pytest.fixture(scope="module")
def cluster(job_kinds: Cluster) -> Cluster:
    """Return a cluster with room for one job of each kind; the last test deletes it."""
    return job_kinds


def test_the_controllers_are_part_of_the_lab(cluster: Cluster) -> None:
    found = cluster.lab.status()
    assert (found.state, cluster.lab.controllers()) == ("running", (*CONTROLLERS, "kueue"))
    assert all(name in cluster.run("lab", "status", "--name", "jobs") for name in CONTROLLERS)


def test_they_work_as_their_service_accounts(cluster: Cluster) -> None:
    """Not as administrators: the rights of their charts are all that they have."""
    for name in cluster.lab.controllers():
        with Kube.from_kubeconfig(cluster.lab.layout.kubeconfig(name)) as theirs:
            assert not theirs.can("delete", "", "nodes"), name
    assert cluster.kube.can("delete", "", "nodes")


def test_they_listen_on_loopback_only(cluster: Cluster) -> None:
    for name, pid in cluster.pids().items():
        listening = [c for c in psutil.Process(pid).net_connections("inet") if c.status == psutil.CONN_LISTEN]
        assert {connection.laddr.ip for connection in listening} == (set() if name == "kwok" else {"127.0.0.1"}), name


@pytest.mark.parametrize("name", KINDS)
def test_a_job_within_the_guarantee_runs_and_the_next_job_waits(cluster: Cluster, name: str) -> None:
    kind, team = KINDS[name], cluster.team
    one, two = f"{name}-one", f"{name}-two"
    first, second = kind.make(one), kind.make(two)
    team.submit(first)
    wait_for(f"the pods of {one}", lambda: len(cluster.running(one)) == kind.pods)
    assert len([place for place in cluster.running(one) if place.startswith("train-")]) == 2
    team.submit(second)
    team.assert_waits_because(two, "couldn't assign flavors")
    assert cluster.running(two) == []
    cluster.delete(first)
    wait_for(f"the pods of {two}", lambda: len(cluster.running(two)) == kind.pods)
    cluster.delete(second)
    wait_for(f"the end of {two}", lambda: not team.pods() and not cluster.kube.list(KUEUE, "Workload", TEAM))


def test_workers_of_an_mpi_job_end_with_its_launcher(cluster: Cluster) -> None:
    """The MPI operator's own default leaves them running, and Kueue has given the quota back."""
    made = mpi_job("ends")
    made["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["metadata"] = {"annotations": {RUN_FOR: "3s"}}
    cluster.team.submit(made)
    wait_for("its workers", lambda: len([place for place in cluster.running("ends") if "train-" in place]) == 2)
    wait_for("their end", lambda: not cluster.running("ends"))
    cluster.delete(made)
    wait_for("its end", lambda: not cluster.team.pods() and not cluster.kube.list(KUEUE, "Workload", TEAM))


def test_a_fault_tolerant_ray_cluster_is_deleted(cluster: Cluster) -> None:
    """KubeRay would keep it until a Job has emptied its Redis, and Kueue suspends that Job forever."""
    made = ray_cluster("tolerant")
    made["spec"]["gcsFaultToleranceOptions"] = {"redisAddress": "redis.example.test:6379"}
    cluster.team.submit(made)
    wait_for("its pods", lambda: len(cluster.running("tolerant")) == 3)
    cluster.delete(made)
    wait_for("its end", lambda: cluster.kube.get_object("ray.io/v1", "RayCluster", "tolerant", TEAM) is None)
    wait_for("the end of its pods", lambda: not cluster.team.pods())


def test_webhooks_reject_invalid_jobs(cluster: Cluster) -> None:
    wrong = train_job("wrong")
    wrong["spec"]["runtimeRef"]["name"] = "another"
    with pytest.raises(ApiError, match="denied the request"):
        cluster.team.submit(wrong)


def test_killed_controllers_are_reported_and_restarted_by_up(cluster: Cluster) -> None:
    before = cluster.pids()
    for name in CONTROLLERS:
        os.kill(before[name], signal.SIGKILL)
    wait_for("their end", lambda: not set(CONTROLLERS) & set(cluster.pids()))
    assert f"crashed (not running: {', '.join(CONTROLLERS)};" in cluster.run("lab", "status", "--name", "jobs")
    hooks = ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "jobset-mutating-webhook-configuration")
    cluster.kube.delete(*hooks)
    cluster.run("up", str(cluster.spec), "--yes")
    assert cluster.lab.status().state == "running"
    assert cluster.kube.get_object(*hooks) is not None
    assert {name: pid for name, pid in cluster.pids().items() if name not in CONTROLLERS} == {
        name: pid for name, pid in before.items() if name not in CONTROLLERS
    }


def test_a_removed_kind_is_uninstalled_but_not_while_in_use(cluster: Cluster) -> None:
    """Without the operator, and with a Kueue without its kind, its objects could not be deleted."""
    job, before = mpi_job("kept"), cluster.pids()
    cluster.team.submit(job)
    wait_for("its pods", lambda: len(cluster.running("kept")) == 3)
    cluster.write(jobSet={}, trainer={}, leaderWorkerSet={})
    refused = cluster.run("up", str(cluster.spec), "--yes", refused=True)
    assert "removing mpi-operator: there are still mpijobs/research/kept" in refused
    assert cluster.pids() == before
    cluster.delete(job)
    wait_for("its end", lambda: not cluster.team.pods() and not cluster.kube.list(KUEUE, "Workload", TEAM))
    cluster.run("up", str(cluster.spec), "--yes")
    after = cluster.pids()
    assert set(before) - set(after) == {"kuberay-operator", "mpi-operator"}
    assert after["jobset"] == before["jobset"]
    found = cluster.kube.list("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    assert not [entry for entry in found if entry["spec"]["group"] in {"ray.io", "kubeflow.org"}]


def test_down_deletes_the_controllers_and_leaves_nothing(cluster: Cluster) -> None:
    """With a running job: controllers are deleted after the objects that they manage."""
    cluster.team.submit(job_set("last"))
    wait_for("its pods", lambda: len(cluster.running("last")) == 2)
    said = cluster.run("down", str(cluster.spec), "--yes")
    assert "Nothing of it is left" in said
    assert not cluster.lab.layout.root.exists()
