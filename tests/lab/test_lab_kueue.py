"""Kueue comes into a lab and goes out of it without a trace."""

import os
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from mlcluster.kube.client import Kube
from mlcluster.lab.kueue_run import KueueInUse
from mlcluster.lab.lab import Lab
from mlcluster.lab.toolchain import Toolchain
from mlcluster.progress import Silent

pytestmark = pytest.mark.lab

TEAM_LABEL = "mlcluster.dev/team"
CONFIG: dict[str, Any] = {
    "integrations": {"frameworks": ["batch/job", "pod", "deployment", "statefulset"]},
    "manageJobsWithoutQueueName": True,
    "managedJobsNamespaceSelector": {"matchExpressions": [{"key": TEAM_LABEL, "operator": "Exists"}]},
}
VISIBLE = {**CONFIG, "featureGates": {"VisibilityOnDemand": True}}
API = "kueue.x-k8s.io/v1beta2"


@pytest.fixture(scope="module")
def own(make_lab: Callable[..., Lab], toolchain: Toolchain) -> Lab:
    lab = make_lab("own-kueue")
    lab.start(toolchain, Silent())
    lab.start_kueue(CONFIG, toolchain, Silent())
    return lab


def kueue_pid(lab: Lab) -> int:
    return next(found.pid or 0 for found in lab.status().processes if found.name == "kueue")


def job(namespace: str) -> dict[str, Any]:
    spec = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}
    metadata = {"name": "one", "namespace": namespace}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": {"spec": spec}}}


def namespace(name: str, **labels: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def test_it_is_part_of_the_lab(own: Lab) -> None:
    found = own.status()
    assert found.state == "running"
    assert [entry.name for entry in found.processes if entry.ready][-1] == "kueue"


def test_webhooks_are_scoped_to_the_namespaces_that_are_managed(own: Lab) -> None:
    with Kube.from_kubeconfig(own.kubeconfig) as kube:
        for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
            hooks = [hook for item in kube.list("admissionregistration.k8s.io/v1", kind) for hook in item["webhooks"]]
            for hook in hooks:
                own_kind = hook["rules"][0]["apiGroups"] == ["kueue.x-k8s.io"]
                scope = {} if own_kind else CONFIG["managedJobsNamespaceSelector"]
                assert hook["namespaceSelector"] == scope, hook["name"]
                assert hook["clientConfig"]["url"].startswith("https://127.0.0.1:")
            workloads = {hook["name"][1:] for hook in hooks} - {"workload.kb.io", "clusterqueue.kb.io"}
            assert {"job.kb.io", "pod.kb.io", "deployment.kb.io", "statefulset.kb.io"} <= workloads


def test_jobs_wait_in_managed_namespaces_only(own: Lab) -> None:
    with Kube.from_kubeconfig(own.kubeconfig) as kube:
        for item in (namespace("team", **{TEAM_LABEL: "a"}), namespace("free")):
            kube.create(item)
        assert kube.create(job("team"), dry_run=True)["spec"]["suspend"] is True
        assert not kube.create(job("free"), dry_run=True)["spec"].get("suspend")


def test_the_same_again_changes_nothing_and_another_configuration_restarts_it(own: Lab, toolchain: Toolchain) -> None:
    before = kueue_pid(own)
    own.start_kueue(CONFIG, toolchain, Silent())
    assert kueue_pid(own) == before
    own.start_kueue({**CONFIG, "integrations": {"frameworks": ["batch/job"]}}, toolchain, Silent())
    assert kueue_pid(own) != before
    with Kube.from_kubeconfig(own.kubeconfig) as kube:
        hooks = kube.list("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration")[0]["webhooks"]
    assert "mpod.kb.io" not in {hook["name"] for hook in hooks}
    own.start_kueue(CONFIG, toolchain, Silent())


def test_a_crashed_kueue_is_told_and_started_again(own: Lab, toolchain: Toolchain) -> None:
    os.kill(kueue_pid(own), signal.SIGKILL)
    assert own.status().state == "crashed"
    own.start(toolchain, Silent())
    assert own.status().state == "running"


def test_it_comes_back_with_a_stopped_lab(own: Lab, toolchain: Toolchain) -> None:
    own.stop(Silent())
    own.start(toolchain, Silent())
    assert own.status().state == "running"
    with Kube.from_kubeconfig(own.kubeconfig) as kube:
        assert kube.create(job("team"), dry_run=True)["spec"]["suspend"] is True


def test_pending_positions_are_served_when_asked_for(own: Lab, toolchain: Toolchain) -> None:
    own.start_kueue(VISIBLE, toolchain, Silent())
    queue = {"apiVersion": API, "kind": "ClusterQueue", "metadata": {"name": "seen"}, "spec": {}}
    with Kube.from_kubeconfig(own.kubeconfig) as kube:
        kube.create(queue)
        found = kube.request("GET", "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/seen/pendingworkloads")
        assert found["kind"] == "PendingWorkloadsSummary"
        kube.delete(API, "ClusterQueue", "seen")
        deadline = time.monotonic() + 30
        while kube.get_object(API, "ClusterQueue", "seen") is not None:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    own.start_kueue(CONFIG, toolchain, Silent())


def test_it_goes_without_a_trace_but_not_with_objects_in_use(own: Lab) -> None:
    with Kube.from_kubeconfig(own.kubeconfig) as kube:
        kube.create({"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": "gpu"}, "spec": {}})
        with pytest.raises(KueueInUse, match="resourceflavors/gpu"):
            own.stop_kueue(Silent())
        assert own.status().state == "running"
        kube.delete(API, "ResourceFlavor", "gpu")
        for name in ("team", "free"):
            kube.delete("v1", "Namespace", name)
        deadline = time.monotonic() + 60
        while any(kube.get_object("v1", "Namespace", name) for name in ("team", "free")) or kube.get_object(
            API, "ResourceFlavor", "gpu"
        ):
            assert time.monotonic() < deadline
            time.sleep(0.1)
    own.stop_kueue(Silent())
    assert own.leftovers() == frozenset()
    assert own.baseline_keys() <= own.keys()
    assert "kueue" not in {found.name for found in own.status().processes}
    own.stop_kueue(Silent())  # twice is fine
