"""After the engine is done: what is not ready, and why."""

import io
from typing import Self

import pytest

from mlcluster.deploy.apply import readiness
from mlcluster.deploy.apply.readiness import unsettled, wait_until_settled
from mlcluster.errors import MlclusterError
from mlcluster.kube.conditions import condition, message
from mlcluster.plan.model import Plan
from mlcluster.progress import Silent
from mlcluster.report.progress import JsonlProgress
from tests.fakes.api_server import FakeApiServer
from tests.fakes.kueue import put_node, put_queue, server_with_kueue
from tests.specs import EXISTING, SYSTEM, planned

pytestmark = pytest.mark.unit

TWO_NODES = {**SYSTEM, "maxSize": 2}
TEAMS = [{"name": "research", "borrow": "all"}]


@pytest.fixture
def plan() -> Plan:
    """Two simulated nodes and one team."""
    return planned(TWO_NODES, teams=TEAMS)


def waiting(plan: Plan, server: FakeApiServer) -> list[str]:
    with server.kube() as kube:
        return unsettled(plan, kube)


def test_everything_is_waited_for_at_first(plan: Plan) -> None:
    assert waiting(plan, server_with_kueue()) == [
        "node system-0 is not ready",
        "node system-1 is not ready",
        "queue research is not active: it is not there",
    ]


def test_reasons_are_kueues(plan: Plan) -> None:
    server = server_with_kueue()
    put_node(server, "system-0")
    put_node(server, "system-1", ready=False)
    put_queue(server, "research", active=False)
    assert waiting(plan, server) == [
        "node system-1 is not ready",
        "queue research is not active: flavor [train] is missing",
    ]


def test_settled(plan: Plan) -> None:
    server = server_with_kueue()
    put_node(server, "system-0")
    put_node(server, "system-1")
    put_queue(server, "research")
    assert waiting(plan, server) == []
    with server.kube() as kube:
        wait_until_settled(plan, kube, Silent())


def test_nodes_and_queues_of_another_cluster_do_not_count(plan: Plan) -> None:
    server = server_with_kueue()
    for name in ("system-0", "system-1"):
        put_node(server, name, cluster="other")
    put_queue(server, "research", cluster="other")
    assert len(waiting(plan, server)) == 3


def test_nodes_of_an_existing_cluster_are_not_waited_for() -> None:
    server = server_with_kueue()
    put_queue(server, "research")
    assert waiting(planned(TWO_NODES, target=EXISTING, teams=TEAMS), server) == []


def test_a_plan_without_teams_does_not_ask_for_queues() -> None:
    assert waiting(planned(SYSTEM, target=EXISTING), FakeApiServer()) == []


def test_patience_ends_with_what_and_why(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "PATIENCE_SECONDS", -1.0)
    events = io.StringIO()
    with server_with_kueue().kube() as kube, pytest.raises(MlclusterError) as caught:
        wait_until_settled(plan, kube, JsonlProgress(events))
    assert "TaskFinished" not in events.getvalue()
    assert caught.value.happened.startswith("node system-0 is not ready; node system-1 is not ready; queue research")
    assert "mlcluster status" in caught.value.hint


def test_waiting_ends_when_all_is_ready(plan: Plan) -> None:
    """The second node becomes ready while we look."""
    server = server_with_kueue()
    put_node(server, "system-0")
    put_queue(server, "research")
    with server.kube() as kube:
        progress = Watching(lambda: put_node(server, "system-1"))
        wait_until_settled(plan, kube, progress)
    assert progress.notes == ["node system-1 is not ready"]


class Watching(Silent):
    """Progress that keeps what it is told, and does something then."""

    def __init__(self, then: object) -> None:
        self.notes: list[str] = []
        self.then = then

    def task(self, title: str) -> "Watching":  # type: ignore[override]  # a context manager of its own
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, note: str, *, done: int | None = None, total: int | None = None) -> None:
        self.notes.append(note)
        assert callable(self.then)
        self.then()


def test_conditions() -> None:
    found = {"status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Active"}]}}
    assert condition(found, "Ready") == {"type": "Ready", "status": "True"}
    assert condition(found, "Other") == {}
    assert condition({"status": {}}, "Ready") == condition(None, "Ready") == {}
    assert message(None, "Active") == "it is not there"
    assert message(found, "Active") == "no controller has looked at it yet"
