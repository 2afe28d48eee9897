"""Readiness of releases for the objects that depend on them, on an API server in memory."""

from dataclasses import replace

import httpx
import pytest

from mlcluster.errors import InterruptedByUserError, MlclusterError
from mlcluster.kube.gates import Gates, unready_part
from mlcluster.plan.model import PlanRelease
from tests.fakes.api_server import FakeApiServer
from tests.fakes.kueue import server_with_kueue

pytestmark = pytest.mark.unit
QUEUES = "clusterqueues.kueue.x-k8s.io"
DOWN = 'Internal error occurred: failed calling webhook "m.kb.io": no endpoints available for service "kueue"'
PROBE = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "probe"}}


RELEASE = PlanRelease(
    id="Release/kueue",
    name="kueue",
    chart="kueue",
    version="0.1.0",
    repository="",
    namespace="kueue-system",
    values={},
    needs=(),
    realisation="helm",
    spec_path=(),
    crds=(QUEUES,),
    webhook_probes=(PROBE,),
)


@pytest.fixture
def server() -> FakeApiServer:
    return server_with_kueue()


def reason(server: FakeApiServer, release: PlanRelease = RELEASE) -> str:
    """Return the part that is not ready with its status; "" if all parts are ready."""
    with server.kube() as kube:
        awaited = unready_part(kube, release)
    return "" if awaited is None else f"{awaited.part}: {awaited.status}"


def test_a_probe_that_a_webhook_admits_creates_nothing(server: FakeApiServer) -> None:
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
def test_a_rejection_is_a_response(server: FakeApiServer, status: int, kind: str, message: str) -> None:
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
def test_temporary_errors_are_waited_for(server: FakeApiServer, status: int, kind: str, message: str) -> None:
    server.fail("POST", "clusterqueues", status, kind, message)
    assert reason(server) == f"the webhook for ClusterQueue (kueue.x-k8s.io/v1beta2): {message}"


def test_a_kind_that_is_not_served_is_waited_for() -> None:
    assert "has no kind ClusterQueue" in reason(FakeApiServer(), replace(RELEASE, crds=()))


def test_an_unreachable_server_is_waited_for(server: FakeApiServer) -> None:
    server.hang_up("POST", "clusterqueues", httpx.ConnectError("connection refused"))
    assert "no response from http://fake" in reason(server)


def test_crds_come_first(server: FakeApiServer) -> None:
    assert reason(FakeApiServer()) == f"the CRD {QUEUES}: it is not there"
    live = server.get("CustomResourceDefinition", QUEUES)
    assert live is not None
    live["status"] = {"conditions": [{"type": "NamesAccepted", "status": "False", "message": "the name is taken"}]}
    assert reason(server) == f"the CRD {QUEUES}: the name is taken"
    live["status"] = {}
    assert reason(server) == f"the CRD {QUEUES}: it is not Established yet"
    accepted = {"type": "NamesAccepted", "status": "True"}
    live["status"] = {"conditions": [accepted, {"type": "Established", "status": "False"}]}
    assert reason(server) == f"the CRD {QUEUES}: it is not Established yet"


def test_an_established_crd_is_not_yet_served(server: FakeApiServer) -> None:
    server.fail("GET", r"^/apis/kueue.x-k8s.io/v1beta2", 404, "NotFound", "404 page not found")
    assert reason(server) == f"the CRD {QUEUES}: it is not there"


@pytest.mark.parametrize("status", [401, 403])
def test_a_missing_permission_ends_the_wait(server: FakeApiServer, status: int) -> None:
    server.fail("POST", "clusterqueues", status, "Forbidden", 'User "jo" cannot create resource "clusterqueues"')
    gates = gates_on(server, [])
    with pytest.raises(MlclusterError, match="cannot create"):
        gates("Release/kueue")
    assert gates.failure is not None


def gates_on(server: FakeApiServer, messages: list[str], patience: float = 5.0) -> Gates:
    return Gates(server.kube(), [RELEASE], messages.append, patience=patience)


def test_start_and_end_of_a_wait_are_reported_once(server: FakeApiServer) -> None:
    server.fail("POST", "clusterqueues", 500, "InternalError", DOWN, times=2)
    messages: list[str] = []
    gates = gates_on(server, messages)
    gates("Release/kueue")
    waiting, ready = messages
    assert waiting.startswith("  waiting for kueue: the webhook for ClusterQueue (kueue.x-k8s.io/v1beta2): Internal")
    assert ready.startswith("  kueue is ready after ")
    assert gates.failure is None


def test_a_release_that_is_ready_at_once_is_not_reported(server: FakeApiServer) -> None:
    messages: list[str] = []
    gates_on(server, messages)("Release/kueue")
    assert messages == []


def test_the_end_of_patience_reports_the_last_status_and_a_hint(server: FakeApiServer) -> None:
    server.fail("POST", "clusterqueues", 500, "InternalError", DOWN)
    gates = gates_on(server, [], patience=-1.0)
    with pytest.raises(MlclusterError) as caught:
        gates("Release/kueue")
    assert caught.value.doing == "waiting for kueue"
    assert caught.value.happened.endswith(f"its last status: {DOWN}")
    assert "kubectl -n kueue-system get pods,endpointslices" in caught.value.hint
    assert gates.failure is caught.value


def test_a_stop_ends_the_wait(server: FakeApiServer) -> None:
    """A stop during the wait ends it long before the patience of the gate does."""
    server.fail("POST", "clusterqueues", 500, "InternalError", DOWN)
    gates = Gates(server.kube(), [RELEASE], lambda _text: gates.stop(), patience=3600.0)
    with pytest.raises(InterruptedByUserError):
        gates("Release/kueue")
