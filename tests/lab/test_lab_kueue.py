"""Kueue is installed in a lab and uninstalled without residue."""

import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pytest

from mlcluster.kube.client import Kube
from mlcluster.kube.errors import ApiError
from mlcluster.lab.controllers.run import ControllerInUse
from mlcluster.lab.lab import Lab
from mlcluster.lab.ports import LOOPBACK
from mlcluster.lab.toolchain import Toolchain
from mlcluster.progress import Silent
from tests.waiting import wait_for

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
def own(make_lab: Callable[..., Lab], toolchain: Toolchain) -> Iterator[Lab]:
    lab = make_lab("own-kueue")
    lab.start(toolchain, Silent())
    lab.start_kueue(CONFIG, toolchain, Silent())
    with Kube.from_kubeconfig(lab.kubeconfig) as kube:
        for item in (namespace("team", **{TEAM_LABEL: "a"}), namespace("free")):
            kube.create(item)
    yield lab
    lab.reset(Silent())


def kueue_pid(lab: Lab) -> int:
    return next(found.pid or 0 for found in lab.status().processes if found.name == "kueue")


def job(namespace: str) -> dict[str, Any]:
    spec = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}
    metadata = {"name": "one", "namespace": namespace}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": {"spec": spec}}}


def namespace(name: str, **labels: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def pending(kube: Kube, queue: str) -> dict[str, Any]:
    """Return the pending workloads of a queue; {} until Kueue has seen the queue."""
    try:
        return kube.request("GET", f"/apis/visibility.{API}/clusterqueues/{queue}/pendingworkloads")
    except ApiError:
        return {}


def hooks(kube: Kube) -> set[str]:
    found = kube.list("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration")
    return {hook["name"] for item in found for hook in item["webhooks"]}


def test_kueue_is_part_of_the_lab(own: Lab) -> None:
    found = own.status()
    assert found.state == "running"
    assert [entry.name for entry in found.processes if entry.ready][-1] == "kueue"


def test_everything_listens_on_loopback_only(own: Lab) -> None:
    for found in own.status().processes:
        listening = [c for c in psutil.Process(found.pid).net_connections("inet") if c.status == psutil.CONN_LISTEN]
        assert {connection.laddr.ip for connection in listening} == ({LOOPBACK} if found.port else set()), found.name


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
        assert kube.create(job("team"), dry_run=True)["spec"]["suspend"] is True
        assert not kube.create(job("free"), dry_run=True)["spec"].get("suspend")


def test_a_second_start_of_kueue_changes_nothing(own: Lab, toolchain: Toolchain) -> None:
    before = kueue_pid(own)
    own.start_kueue(CONFIG, toolchain, Silent())
    assert kueue_pid(own) == before


def test_another_configuration_replaces_the_first(own: Lab, toolchain: Toolchain) -> None:
    """One with fewer frameworks and with pending positions; then the first one again."""
    before = kueue_pid(own)
    own.start_kueue({**VISIBLE, "integrations": {"frameworks": ["batch/job"]}}, toolchain, Silent())
    assert kueue_pid(own) != before
    with Kube.from_kubeconfig(own.kubeconfig) as kube:
        assert "mpod.kb.io" not in hooks(kube)
        kube.create({"apiVersion": API, "kind": "ClusterQueue", "metadata": {"name": "seen"}, "spec": {}})
        wait_for("what waits in it", lambda: "PendingWorkloadsSummary" in str(pending(kube, "seen")))
        kube.delete(API, "ClusterQueue", "seen")
        wait_for("its end", lambda: kube.get_object(API, "ClusterQueue", "seen") is None)
        own.start_kueue(CONFIG, toolchain, Silent())
        assert "mpod.kb.io" in hooks(kube)
        services = [item["metadata"]["name"] for item in kube.list("apiregistration.k8s.io/v1", "APIService")]
        assert not [name for name in services if "visibility" in name]


def test_a_crashed_kueue_is_reported_and_restarted(own: Lab, toolchain: Toolchain) -> None:
    os.kill(kueue_pid(own), signal.SIGKILL)
    wait_for("its end", lambda: kueue_pid(own) == 0)
    assert own.status().state == "crashed"
    own.start(toolchain, Silent())
    assert own.status().state == "running"


def test_kueue_starts_with_a_stopped_lab(own: Lab, toolchain: Toolchain) -> None:
    own.stop(Silent())
    own.start(toolchain, Silent())
    assert own.status().state == "running"
    with Kube.from_kubeconfig(own.kubeconfig) as kube:
        assert kube.create(job("team"), dry_run=True)["spec"]["suspend"] is True


def test_kueue_is_uninstalled_without_residue_but_not_while_in_use(own: Lab) -> None:
    with Kube.from_kubeconfig(own.kubeconfig) as kube:
        kube.create({"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": "gpu"}, "spec": {}})
        with pytest.raises(ControllerInUse, match="resourceflavors/gpu"):
            own.stop_kueue(Silent())
        assert own.status().state == "running"
        kube.delete(API, "ResourceFlavor", "gpu")
        for name in ("team", "free"):
            kube.delete("v1", "Namespace", name)
        for name in ("team", "free"):
            wait_for(f"the end of {name}", lambda: kube.get_object("v1", "Namespace", name) is None)  # noqa: B023
        wait_for("the end of the flavor", lambda: kube.get_object(API, "ResourceFlavor", "gpu") is None)
    own.stop_kueue(Silent())
    assert own.leftovers() == frozenset()
    assert own.baseline_keys() <= own.keys()
    assert "kueue" not in {found.name for found in own.status().processes}
    own.stop_kueue(Silent())  # twice is fine
