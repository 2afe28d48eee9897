"""When a release is ready for those that need it, on an API server in memory."""

from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from mlcluster.errors import InterruptedByUserError, MlclusterError
from mlcluster.kube.gates import Gates, unready
from tests.fakes.api_server import FakeApiServer
from tests.fakes.kueue import server_with_kueue

pytestmark = pytest.mark.unit
QUEUES = "clusterqueues.kueue.x-k8s.io"
DOWN = 'Internal error occurred: failed calling webhook "m.kb.io": no endpoints available for service "kueue"'
PROBE = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "probe"}}


@dataclass(frozen=True)
class Release:
    """A release of a plan."""

    id: str = "Release/kueue"
    name: str = "kueue"
    namespace: str = "kueue-system"
    crds: tuple[str, ...] = (QUEUES,)
    webhook_probes: tuple[dict[str, Any], ...] = field(default=(PROBE,))


@pytest.fixture
def server() -> FakeApiServer:
    return server_with_kueue()


def reason(server: FakeApiServer, release: Release | None = None) -> str:
    """What is not ready and why, "" when everything is."""
    with server.kube() as kube:
        awaited = unready(kube, release or Release())
    return "" if awaited is None else f"{awaited.what}: {awaited.said}"


def test_a_webhook_that_allows_answers_and_nothing_is_made(server: FakeApiServer) -> None:
    assert reason(server) == ""
    assert server.get("ClusterQueue", "probe") is None


@pytest.mark.parametrize(
    ("status", "kind", "message"),
    [
        (403, "Forbidden", 'admission webhook "v.kb.io" denied the request: no'),
        (400, "BadRequest", 'admission webhook "v.kb.io" denied the request: no'),
        (422, "Invalid", "spec.cohortName: Invalid value"),
        (409, "AlreadyExists", 'clusterqueues "probe" already exists'),
    ],
)
def test_a_refusal_is_an_answer(server: FakeApiServer, status: int, kind: str, message: str) -> None:
    server.fail("POST", "clusterqueues", status, kind, message)
    assert reason(server) == ""


@pytest.mark.parametrize(
    ("status", "kind", "message"),
    [
        (500, "InternalError", DOWN),
        (500, "InternalError", "failed calling webhook: dial tcp 10.0.0.1:443: connect: connection refused"),
        (403, "Forbidden", "unable to create: namespace is being terminated"),
        (404, "NotFound", 'namespaces "later" not found'),
        (400, "BadRequest", "conversion webhook for kueue.x-k8s.io/v1beta1 failed"),
        (429, "TooManyRequests", "slow down"),
    ],
)
def test_what_may_pass_is_waited_for(server: FakeApiServer, status: int, kind: str, message: str) -> None:
    server.fail("POST", "clusterqueues", status, kind, message)
    assert reason(server) == f"the webhook for ClusterQueue (kueue.x-k8s.io/v1beta2): {message}"


def test_a_kind_that_is_not_served_is_waited_for() -> None:
    assert "has no kind ClusterQueue" in reason(FakeApiServer(), Release(crds=()))


def test_a_server_that_is_away_is_waited_for(server: FakeApiServer) -> None:
    server.hang_up("POST", "clusterqueues", httpx.ConnectError("connection refused"))
    assert "no answer from http://fake" in reason(server)


def test_definitions_come_first(server: FakeApiServer) -> None:
    assert reason(FakeApiServer()) == f"the definition {QUEUES}: it is not there"
    live = server.get("CustomResourceDefinition", QUEUES)
    assert live is not None
    live["status"] = {"conditions": [{"type": "NamesAccepted", "status": "False", "message": "the name is taken"}]}
    assert reason(server) == f"the definition {QUEUES}: the name is taken"
    live["status"] = {}
    assert reason(server) == f"the definition {QUEUES}: it is not Established yet"
    accepted = {"type": "NamesAccepted", "status": "True"}
    live["status"] = {"conditions": [accepted, {"type": "Established", "status": "False"}]}
    assert reason(server) == f"the definition {QUEUES}: it is not Established yet"


def test_established_is_not_served(server: FakeApiServer) -> None:
    server.fail("GET", r"^/apis/kueue.x-k8s.io/v1beta2", 404, "NotFound", "404 page not found")
    assert reason(server) == f"the definition {QUEUES}: it is not there"


@pytest.mark.parametrize("status", [401, 403])
def test_who_may_not_ask_does_not_wait(server: FakeApiServer, status: int) -> None:
    server.fail("POST", "clusterqueues", status, "Forbidden", 'User "jo" cannot create resource "clusterqueues"')
    gates = gates_on(server, [])
    with pytest.raises(MlclusterError, match="cannot create"):
        gates("Release/kueue")
    assert gates.failure is not None


def gates_on(server: FakeApiServer, said: list[str], patience: float = 5.0) -> Gates:
    return Gates(server.kube(), [Release()], said.append, patience=patience)


def test_waiting_is_told_once_and_so_is_its_end(server: FakeApiServer) -> None:
    server.fail("POST", "clusterqueues", 500, "InternalError", DOWN, times=2)
    said: list[str] = []
    gates = gates_on(server, said)
    gates("Release/kueue")
    waiting, ready = said
    assert waiting.startswith("  waiting for kueue: the webhook for ClusterQueue (kueue.x-k8s.io/v1beta2): Internal")
    assert ready.startswith("  kueue answers after ")
    assert gates.failure is None


def test_nothing_is_told_of_a_release_that_answers_at_once(server: FakeApiServer) -> None:
    said: list[str] = []
    gates_on(server, said)("Release/kueue")
    assert said == []


def test_patience_ends_with_the_last_words_and_what_to_try(server: FakeApiServer) -> None:
    server.fail("POST", "clusterqueues", 500, "InternalError", DOWN)
    gates = gates_on(server, [], patience=-1.0)
    with pytest.raises(MlclusterError) as caught:
        gates("Release/kueue")
    assert caught.value.doing == "waiting for kueue"
    assert caught.value.happened.endswith(f"it said last: {DOWN}")
    assert "kubectl -n kueue-system get pods,endpointslices" in caught.value.hint
    assert gates.failure is caught.value


def test_a_stop_ends_the_wait(server: FakeApiServer) -> None:
    """Told of the wait, somebody stops it: long before the patience of the gate ends."""
    server.fail("POST", "clusterqueues", 500, "InternalError", DOWN)
    gates = Gates(server.kube(), [Release()], lambda _text: gates.stop(), patience=3600.0)
    with pytest.raises(InterruptedByUserError):
        gates("Release/kueue")
