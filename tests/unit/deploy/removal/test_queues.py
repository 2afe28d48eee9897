"""Queues are held and drained before what they hold is deleted."""

from typing import Any

import pytest

from mlcluster.deploy.removal import queues
from mlcluster.deploy.removal.queues import hold_queues
from mlcluster.progress import Silent
from tests.fakes.api_server import FakeApiServer
from tests.fakes.kueue import put_queue, server_with_kueue

pytestmark = pytest.mark.unit


class Told(Silent):
    """Progress that keeps what is said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)


def hold(server: FakeApiServer, *queues: str) -> list[str]:
    """What was said."""
    told = Told()
    with server.kube() as kube:
        hold_queues(kube, queues, told)
    return told.said


def policy(server: FakeApiServer, name: str) -> Any:
    return (server.get("ClusterQueue", name) or {})["spec"].get("stopPolicy")


def test_an_idle_queue_is_held(server: FakeApiServer) -> None:
    put_queue(server, "research")
    put_queue(server, "products")
    assert hold(server, "research") == []
    assert policy(server, "research") == "HoldAndDrain"
    assert policy(server, "products") is None


@pytest.fixture
def server() -> FakeApiServer:
    return server_with_kueue()


def test_a_queue_that_is_gone_is_nothing_to_wait_for(server: FakeApiServer) -> None:
    assert hold(server, "gone") == []
    assert hold(FakeApiServer(), "gone") == []
    assert hold(server) == []


def test_a_busy_queue_is_waited_for(server: FakeApiServer) -> None:
    """Kueue evicts when it sees the policy."""
    put_queue(server, "research", admittedWorkloads=1, reservingWorkloads=2)

    def kueue(_old: Any, new: Any) -> None:
        if new["kind"] == "ClusterQueue" and new["spec"].get("stopPolicy") == "HoldAndDrain":
            new["status"] |= {"admittedWorkloads": 0, "reservingWorkloads": 0}

    server.on_write = kueue
    assert hold(server, "research") == []


def test_a_queue_that_does_not_drain_is_told(server: FakeApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queues, "DRAIN_SECONDS", 0.0)
    put_queue(server, "research", admittedWorkloads=1)
    assert hold(server, "research") == ["some workloads did not stop in time; they are deleted with their namespaces"]
    assert policy(server, "research") == "HoldAndDrain"


def test_an_admitted_workload_is_counted_once(server: FakeApiServer) -> None:
    """Kueue's reservingWorkloads counts the admitted ones too."""
    put_queue(server, "research", admittedWorkloads=2, reservingWorkloads=3)
    with server.kube() as kube:
        assert queues._admitted(kube, "research") == 3
