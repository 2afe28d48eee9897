"""Everyday work of members with kubectl and the role `edit`: no request is rejected."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mlcluster.lab.toolchain import find_tool
from tests.lab.attacks import gpus_counted, gpus_on_nodes
from tests.lab.promise.conftest import Cluster
from tests.lab.workloads import Tenant, controller, job, pod_spec
from tests.waiting import wait_for

pytestmark = pytest.mark.lab


class Member:
    """A member of a team with kubectl."""

    def __init__(self, kubectl: Path, kubeconfig: Path, team: str) -> None:
        self._command = [str(kubectl), f"--kubeconfig={kubeconfig}", f"--namespace={team}"]
        self._command += ["--as=member", f"--as-group=ml-{team}", "--as-group=system:authenticated"]

    def __call__(self, *arguments: str, manifest: dict[str, Any] | None = None) -> str:
        done = subprocess.run(
            [*self._command, *arguments],
            check=False, capture_output=True, text=True, input=json.dumps(manifest) if manifest else "",
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def member(cluster: Cluster) -> Member:
    """Return a member of the team products."""
    kubectl = find_tool("kubectl")
    assert kubectl is not None
    return Member(kubectl, cluster.kubeconfig, "products")


def test_a_deployment_rolls_while_it_uses_a_whole_node(products: Tenant, member: Member) -> None:
    member("apply", "-f", "-", manifest=controller("Deployment", "api", "products", pod_spec(gpus=4), replicas=2))
    member("rollout", "status", "deployment/api", "--timeout=120s")
    newer = controller("Deployment", "api", "products", pod_spec(gpus=4), replicas=2)
    newer["spec"]["template"]["spec"]["containers"][0]["image"] = "example.test/newer"
    member("apply", "-f", "-", manifest=newer)
    member("rollout", "status", "deployment/api", "--timeout=120s")
    member("rollout", "restart", "deployment/api")
    member("rollout", "status", "deployment/api", "--timeout=120s")
    member("rollout", "undo", "deployment/api")
    member("rollout", "status", "deployment/api", "--timeout=120s")
    member("scale", "deployment/api", "--replicas=3")
    wait_for("it grows", lambda: gpus_on_nodes(products.kube, "products") == 12)
    wait_for("it is counted", lambda: gpus_counted(products.kube, "products") == 12)


def test_a_stateful_set_is_updated_in_place(products: Tenant, member: Member) -> None:
    member("apply", "-f", "-", manifest=controller("StatefulSet", "store", "products", pod_spec(gpus=1), replicas=2))
    member("rollout", "status", "statefulset/store", "--timeout=120s")
    member("set", "image", "statefulset/store", "main=example.test/newer")
    member("rollout", "status", "statefulset/store", "--timeout=120s")
    images = {pod["spec"]["containers"][0]["image"] for pod in products.pods(app="store")}
    assert images == {"example.test/newer"}
    wait_for("it is counted", lambda: gpus_counted(products.kube, "products") == 2)


def test_a_scheduled_job_is_started_by_hand(products: Tenant, member: Member) -> None:
    template = job("x", "x", pod_spec(cpu="1"))["spec"]
    manifest: dict[str, Any] = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly", "namespace": "products"},
        "spec": {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": template}},
    }
    member("apply", "-f", "-", manifest=manifest)
    member("create", "job", "by-hand", "--from=cronjob/nightly")
    wait_for("it runs", lambda: products.running("by-hand") == 1)
    assert products.admitted("by-hand")
    member("delete", "cronjob", "nightly")
    wait_for("its jobs are gone", lambda: products.job("by-hand") is None)


def test_pods_are_run_and_deleted(products: Tenant, member: Member) -> None:
    member("run", "shell", "--image=example.test/none", "--labels=mine=yes")
    wait_for("it runs", lambda: (products.pod("shell") or {})["status"]["phase"] == "Running")
    member("label", "pod/shell", "more=yes")
    member("annotate", "pod/shell", "note=kept")
    member("delete", "pod", "shell", "--grace-period=60", "--wait=false")
    member("run", "again", "--image=example.test/none")
    member("delete", "pod", "again", "--now")
    wait_for("both are deleted", lambda: not products.kube.list("v1", "Pod", "products"))


def test_every_object_of_a_helm_release_is_stored(products: Tenant, member: Member) -> None:
    """The objects that Helm stores for a web application, including its release record."""
    objects: list[dict[str, Any]] = [
        {"kind": "Secret", "type": "helm.sh/release.v1", "stringData": {"release": "x" * 1000}},
        {"kind": "ConfigMap", "data": {"settings": "x" * 1000}},
        {"kind": "ServiceAccount"},
        {"kind": "Service", "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}},
        {
            "kind": "PersistentVolumeClaim",
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}},
        },
    ]
    for manifest in objects:
        named = {"apiVersion": "v1", "metadata": {"name": "web", "namespace": "products"}, **manifest}
        member("apply", "-f", "-", manifest=named)
    kinds = "secret,configmap,serviceaccount,service,persistentvolumeclaim"
    stored = member("get", kinds, "web", "--output=name").split()
    assert [name.partition("/")[0] for name in stored] == kinds.split(",")
    member("delete", kinds, "web", "--wait=true")
    assert not member("get", kinds, "--output=name", "--field-selector=metadata.name=web")


def test_requests_of_a_running_pod_stay_as_they_were_counted(products: Tenant) -> None:
    """The role `edit` has no right to ephemeral containers, to resize a pod, or to bind it."""
    products.submit(job("kept", "products", pod_spec(cpu="1")))
    wait_for("it runs", lambda: products.running("kept") == 1)
    for subresource in ("ephemeralcontainers", "resize", "binding", "status"):
        may = products.kube.can("update", "", f"pods/{subresource}", "products", as_user="x", as_groups=["ml-products"])
        assert not may, subresource
