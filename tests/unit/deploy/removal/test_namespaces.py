"""What goes before a platform is destroyed, and when a finalizer is taken off."""

from typing import Any

import pytest

from mlcluster.deploy.removal import namespaces
from mlcluster.deploy.removal.namespaces import empty_namespaces
from mlcluster.errors import MlclusterError
from mlcluster.progress import Silent
from tests.fakes.api_server import FakeApiServer
from tests.fakes.installed import put, put_controller, put_service, put_team, release, serve

pytestmark = pytest.mark.unit
JOBSET = "jobset.x-k8s.io/v1alpha2/JobSet"
RAY = "ray.io/v1/RayJob"
RAY_FINALIZER = "ray.io/rayjob-finalizer"
LATER = "2026-01-01T00:00:00Z"


class Told(Silent):
    """Progress that keeps what is said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespaces, "_PAUSE", 0.0)


@pytest.fixture
def server() -> FakeApiServer:
    """One team, and the kinds of JobSet and KubeRay."""
    server = FakeApiServer()
    put_team(server, "research")
    serve(server, JOBSET, "jobsets")
    serve(server, RAY, "rayjobs")
    return server


def empty(server: FakeApiServer, *names: str) -> list[str]:
    told = Told()
    empty_namespaces(server.kube(), "atlas", [release(name) for name in names], told)
    return told.said


def stuck(server: FakeApiServer, monkeypatch: pytest.MonkeyPatch, *names: str) -> tuple[list[str], str]:
    """What is said, and the error: an object keeps its finalizer, and so the namespace stays."""
    monkeypatch.setattr(namespaces, "WORKLOAD_SECONDS", -1.0)
    monkeypatch.setattr(namespaces, "NAMESPACE_SECONDS", -1.0)
    told = Told()
    with pytest.raises(MlclusterError) as caught:
        empty_namespaces(server.kube(), "atlas", [release(name) for name in names], told)
    return told.said, caught.value.happened


def deleted(server: FakeApiServer) -> list[str]:
    return [call.path.rpartition("/")[2] for call in server.calls if call.method == "DELETE"]


def test_workloads_go_before_their_namespaces(server: FakeApiServer) -> None:
    put_controller(server, release("jobset"))
    put(server, "jobset.x-k8s.io/v1alpha2", "JobSet", "train", namespace="research")
    put(server, "jobset.x-k8s.io/v1alpha2", "JobSet", "foreign", namespace="default")
    assert empty(server, "jobset") == []
    assert deleted(server) == ["train", "research"]
    assert server.get("JobSet", "foreign", "default") is not None


def test_namespaces_of_others_stay(server: FakeApiServer) -> None:
    put_team(server, "elsewhere", cluster="other")
    put(server, "v1", "Namespace", "mine", labels={"app.kubernetes.io/managed-by": "mlcluster"})
    empty(server, "jobset")
    assert deleted(server) == ["research"]


def test_without_releases_the_engine_does_it_all(server: FakeApiServer) -> None:
    assert empty(server) == []
    assert deleted(server) == []


def ray_job(server: FakeApiServer, **more: Any) -> None:
    put(server, "ray.io/v1", "RayJob", "stuck", namespace="research", finalizers=[RAY_FINALIZER], **more)


def test_a_finalizer_is_taken_off_when_its_controller_is_gone_and_that_is_told(server: FakeApiServer) -> None:
    ray_job(server)
    assert empty(server, "kuberay-operator") == [
        f"removed the finalizer {RAY_FINALIZER} from RayJob/research/stuck: its controller, kuberay-operator, is gone"
    ]


def test_a_deployment_that_nobody_wants_is_gone_too(server: FakeApiServer) -> None:
    put_controller(server, release("kuberay-operator"), ready=0, wanted=0)
    ray_job(server)
    assert len(empty(server, "kuberay-operator")) == 1


@pytest.mark.parametrize("ready", [0, 1])
def test_it_stays_while_the_controller_may_come_back(
    server: FakeApiServer, monkeypatch: pytest.MonkeyPatch, ready: int
) -> None:
    """And the end of patience tells what waits for what."""
    monkeypatch.setattr(namespaces, "WORKLOAD_SECONDS", -1.0)
    monkeypatch.setattr(namespaces, "NAMESPACE_SECONDS", -1.0)
    put_controller(server, release("kuberay-operator"), ready=ready)
    ray_job(server)
    namespace = server.get("Namespace", "research")
    assert namespace is not None
    namespace["metadata"]["finalizers"] = ["kubernetes"]
    namespace["status"] = {"conditions": [{"status": "True", "message": "1 instance of rayjobs.ray.io"}]}
    with pytest.raises(MlclusterError) as caught:
        empty(server, "kuberay-operator")
    assert f"RayJob/research/stuck waits for {RAY_FINALIZER}" in caught.value.happened
    assert "1 instance of rayjobs.ray.io" in caught.value.happened
    assert "delete its Deployment" in caught.value.hint
    live = server.get("RayJob", "stuck", "research")
    assert live is not None
    assert live["metadata"]["finalizers"] == [RAY_FINALIZER]


def test_endpoints_without_a_deployment_are_somebody(server: FakeApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    of = release("kuberay-operator")
    put(server, "v1", "Namespace", of.namespace)
    put_service(server, of, answers=True)
    ray_job(server)
    said, happened = stuck(server, monkeypatch, "kuberay-operator")
    assert said == ["1 workloads were not deleted in time; they are deleted with their namespaces"]
    assert f"RayJob/research/stuck waits for {RAY_FINALIZER}" in happened


def test_finalizers_that_nobody_knows_stay(server: FakeApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    put(server, "ray.io/v1", "RayJob", "odd", namespace="research", finalizers=["example.test/mine"])
    said, happened = stuck(server, monkeypatch, "kuberay-operator")
    assert said == ["1 workloads were not deleted in time; they are deleted with their namespaces"]
    assert "finalizers remaining: example.test/mine in 1 resource instances" in happened
    assert server.get("RayJob", "odd", "research") is not None


def test_queues_of_ours_do_not_wait_for_a_kueue_that_is_gone(server: FakeApiServer) -> None:
    """Cluster-wide objects with our labels; those of others wait."""
    serve(server, "kueue.x-k8s.io/v1beta2/ClusterQueue", "clusterqueues", scope="Cluster")
    ours = {"app.kubernetes.io/managed-by": "mlcluster", "mlcluster.dev/cluster": "atlas"}
    for name, labels in (("research", ours), ("theirs", {})):
        more: dict[str, Any] = {"labels": labels, "finalizers": ["kueue.x-k8s.io/resource-in-use"]}
        put(server, "kueue.x-k8s.io/v1beta2", "ClusterQueue", name, **more)
    said = empty(server, "kueue")
    finalizer = "kueue.x-k8s.io/resource-in-use"
    assert said == [f"removed the finalizer {finalizer} from ClusterQueue/research: its controller, kueue, is gone"]
    theirs = server.get("ClusterQueue", "theirs")
    assert theirs is not None
    assert "deletionTimestamp" not in theirs["metadata"]


def test_a_webhook_that_nobody_answers_goes_first(server: FakeApiServer) -> None:
    """Else taking a finalizer off is refused by it."""
    of = release("keda")
    put(server, "v1", "Namespace", of.namespace)
    put_service(server, of, answers=False)
    client = {"clientConfig": {"service": {"namespace": of.namespace, "name": "webhook"}}}
    put(
        server, "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "keda-admission", webhooks=[client]
    )
    assert empty(server, "keda") == [
        "removed ValidatingWebhookConfiguration keda-admission, which keda left behind: its Service has no endpoint"
    ]


def test_what_is_asked_does_not_grow_with_teams_nor_with_objects(server: FakeApiServer) -> None:
    for team in ("vision", "speech"):
        put_team(server, team)
        for number in range(5):
            name = f"stuck-{number}"
            put(server, "ray.io/v1", "RayJob", name, namespace=team, finalizers=[RAY_FINALIZER])
    assert len(empty(server, "kuberay-operator")) == 10
    reads = [call.path for call in server.calls if call.method == "GET"]
    assert len([path for path in reads if path.endswith("/rayjobs")]) <= 5
    assert len([path for path in reads if path.endswith("/deployments")]) <= 5
