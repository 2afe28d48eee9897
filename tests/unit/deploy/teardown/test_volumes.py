"""Load balancers and volumes go while the controllers run that made them, and are waited for."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from mlcluster.deploy.teardown.volumes import PATIENCE_SECONDS, delete_load_balancers, delete_volumes
from mlcluster.errors import MlclusterError
from mlcluster.progress import Silent
from mlcluster.waiting import Clock
from tests.fakes.api_server import FakeApiServer
from tests.fakes.kueue import put_claim

pytestmark = pytest.mark.unit


@dataclass
class Waiting:
    """Stands for the clock: each pause passes its seconds, and then `then` happens.

    Attributes:
        pauses: how long each was.
    """

    then: dict[int, tuple[str, str]] = field(default_factory=dict)
    server: FakeApiServer | None = None
    now: float = 1000.0
    pauses: list[float] = field(default_factory=list)

    def pause(self, seconds: float) -> None:
        self.now += seconds
        self.pauses.append(seconds)
        going = self.then.get(len(self.pauses))
        if going and self.server is not None:
            _drop(self.server, *going)

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.now, self.pause)


def _drop(server: FakeApiServer, kind: str, name: str) -> None:
    for key in [key for key in server.objects if (key[1], key[3]) == (kind, name)]:
        del server.objects[key]


@pytest.fixture
def server() -> FakeApiServer:
    """A cluster that knows volumes."""
    made = FakeApiServer()
    made._kinds["v1", "persistentvolumes"] = ("PersistentVolume", False)
    return made


def put_service(server: FakeApiServer, name: str, kind: str = "LoadBalancer", *, held: bool = False) -> None:
    metadata: dict[str, Any] = {"name": name, "namespace": "default"}
    if held:
        metadata["finalizers"] = ["service.k8s.aws/resources"]
    server.put({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"type": kind}})


def put_volume(server: FakeApiServer, name: str, *, policy: str = "Delete", claim: str = "") -> None:
    spec: dict[str, Any] = {"persistentVolumeReclaimPolicy": policy}
    if claim:
        spec["claimRef"] = {"name": claim, "namespace": "default"}
        if server.get("PersistentVolumeClaim", claim, "default") is None:
            put_claim(server, claim, "default")
    server.put({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec})


def balancers(server: FakeApiServer, waiting: Waiting) -> None:
    with server.kube() as kube:
        delete_load_balancers(kube, Silent(), waiting.clock)


def volumes(server: FakeApiServer, waiting: Waiting) -> None:
    with server.kube() as kube:
        delete_volumes(kube, Silent(), waiting.clock)


class TestLoadBalancers:
    def test_only_services_with_a_load_balancer_go(self, server: FakeApiServer) -> None:
        put_service(server, "web")
        put_service(server, "inside", "ClusterIP")
        server.put({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "bare", "namespace": "default"}})
        balancers(server, waiting := Waiting())
        assert server.get("Service", "web", "default") is None
        assert server.get("Service", "inside", "default") is not None
        assert server.get("Service", "bare", "default") is not None
        assert waiting.pauses == []

    def test_the_controller_is_waited_for(self, server: FakeApiServer) -> None:
        put_service(server, "web", held=True)
        waiting = Waiting({3: ("Service", "web")}, server)
        balancers(server, waiting)
        assert waiting.pauses == [1, 1, 1]

    def test_patience_ends_with_what_is_left(self, server: FakeApiServer) -> None:
        for number in range(7):
            put_service(server, f"web-{number}", held=True)
        waiting = Waiting()
        with pytest.raises(MlclusterError) as caught:
            balancers(server, waiting)
        assert caught.value.doing == "waiting for the deletion of load balancers"
        assert caught.value.happened == "7 are still there: web-0, web-1, web-2, web-3, web-4"
        assert "run down again" in caught.value.hint
        assert waiting.now - 1000.0 == PATIENCE_SECONDS + 1

    def test_a_new_service_of_the_same_name_is_not_what_was_deleted(self, server: FakeApiServer) -> None:
        put_service(server, "web", held=True)
        waiting = Waiting()

        def replaced(seconds: float) -> None:
            waiting.pause(seconds)
            _drop(server, "Service", "web")
            put_service(server, "web")

        with server.kube() as kube:
            delete_load_balancers(kube, Silent(), Clock(lambda: waiting.now, replaced))
        assert waiting.pauses == [1]

    def test_without_any_only_one_question_is_asked(self, server: FakeApiServer) -> None:
        balancers(server, Waiting())
        assert [call.path for call in server.calls if "services" in call.path] == ["/api/v1/services"]


class TestVolumes:
    def test_claims_go_and_their_volumes_are_waited_for(self, server: FakeApiServer) -> None:
        put_volume(server, "pvc-1", claim="scratch")
        waiting = Waiting({2: ("PersistentVolume", "pvc-1")}, server)
        volumes(server, waiting)
        assert server.get("PersistentVolumeClaim", "scratch", "default") is None
        assert len(waiting.pauses) == 2

    def test_what_is_retained_stays_with_its_claim(self, server: FakeApiServer) -> None:
        put_volume(server, "pvc-1", policy="Retain", claim="models")
        volumes(server, waiting := Waiting())
        assert server.get("PersistentVolumeClaim", "models", "default") is not None
        assert server.get("PersistentVolume", "pvc-1") is not None
        assert waiting.pauses == []

    def test_a_volume_that_was_never_claimed_is_not_waited_for(self, server: FakeApiServer) -> None:
        put_volume(server, "by-hand")
        server.put({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "bare"}})
        volumes(server, waiting := Waiting())
        assert server.get("PersistentVolume", "by-hand") is not None
        assert waiting.pauses == []

    def test_a_volume_whose_claim_is_gone_already_is_waited_for(self, server: FakeApiServer) -> None:
        put_volume(server, "pvc-1", claim="scratch")
        _drop(server, "PersistentVolumeClaim", "scratch")
        waiting = Waiting({1: ("PersistentVolume", "pvc-1")}, server)
        volumes(server, waiting)
        assert waiting.pauses == [1]

    def test_patience_ends_with_what_is_left(self, server: FakeApiServer) -> None:
        put_volume(server, "pvc-1", claim="scratch")
        with pytest.raises(
            MlclusterError, match="waiting for the deletion of volumes: 1 are still there: pvc-1"
        ) as caught:
            volumes(server, Waiting())
        assert "a pod may still use it" in caught.value.hint
