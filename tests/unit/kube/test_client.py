import itertools
import ssl

import httpx
import pytest

from mlcluster.errors import MlclusterError
from mlcluster.kube.errors import ApiError, Forbidden, Unauthorized, Unreachable
from mlcluster.kube.preflight import preflight
from mlcluster.kube.transport import _pause
from tests.fakes.api_server import FakeApiServer

pytestmark = pytest.mark.unit


def config_map(name: str, **data: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data}


def test_apply_creates_and_then_owns_its_fields() -> None:
    server = FakeApiServer()
    with server.kube() as kube:
        kube.apply(config_map("a", x="1", y="2"))
        kube.patch("v1", "ConfigMap", "a", {"data": {"foreign": "3"}}, "default")
        kube.apply(config_map("a", x="1"))
        live = kube.get_object("v1", "ConfigMap", "a", "default")
    assert live is not None
    assert live["data"] == {"x": "1", "foreign": "3"}


def test_dry_run_writes_nothing() -> None:
    server = FakeApiServer()
    with server.kube() as kube:
        assert kube.apply(config_map("a"), dry_run=True)["metadata"]["uid"]
        assert kube.get_object("v1", "ConfigMap", "a", "default") is None


def test_missing_objects_and_kinds() -> None:
    with FakeApiServer().kube() as kube:
        assert kube.get_object("v1", "ConfigMap", "absent", "default") is None
        assert kube.get_object("kueue.x-k8s.io/v1beta1", "ClusterQueue", "absent") is None
        with pytest.raises(ApiError, match="no kind Widget in v1") as caught:
            kube.discover("v1", "Widget")
        assert (caught.value.status, caught.value.reason) == (404, "NoKind")


def test_discovery_is_cached_and_refreshed_on_a_miss() -> None:
    server = FakeApiServer()
    with server.kube() as kube:
        for _ in range(5):
            kube.discover("v1", "Secret")
        assert sum(call.path == "/api/v1" for call in server.calls) == 1
        crd = {
            "group": "x.io",
            "scope": "Cluster",
            "names": {"plural": "ws", "kind": "W"},
            "versions": [{"name": "v1"}],
        }
        with pytest.raises(ApiError):
            kube.discover("x.io/v1", "W")
        kube.apply(
            {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": "ws.x.io"},
                "spec": crd,
            }
        )
        assert kube.discover("x.io/v1", "W") == ("ws", False)


def test_list_reads_every_page_and_selects_by_label() -> None:
    server = FakeApiServer(page=3)
    for number in range(8):
        labels = {"odd": str(number % 2)}
        metadata = {"name": f"n{number}", "namespace": "default", "labels": labels}
        server.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    with server.kube() as kube:
        everything = kube.list("v1", "ConfigMap")
        odd = kube.list("v1", "ConfigMap", "default", "odd=1")
    assert [item["metadata"]["name"] for item in everything] == [f"n{number}" for number in range(8)]
    assert {item["kind"] for item in everything} == {"ConfigMap"}
    assert len(odd) == 4


def test_paths() -> None:
    with FakeApiServer().kube(namespace="home") as kube:
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}
        assert kube.path_of(node, subresource="status") == "/api/v1/nodes/a/status"
        assert kube.path_of(job) == "/apis/batch/v1/namespaces/home/jobs/j"
        assert kube.path_of(job, named=False) == "/apis/batch/v1/namespaces/home/jobs"


def test_delete_ignores_a_missing_object_and_rejects_another_uid() -> None:
    server = FakeApiServer()
    server.put(config_map("a"))
    with server.kube() as kube:
        kube.delete("v1", "ConfigMap", "absent", "default")
        with pytest.raises(ApiError, match="UID") as caught:
            kube.delete("v1", "ConfigMap", "a", "default", uid="another")
        assert caught.value.status == 409
        kube.delete("v1", "ConfigMap", "a", "default", uid=server.get("ConfigMap", "a", "default")["metadata"]["uid"])  # type: ignore[index]
    assert server.get("ConfigMap", "a", "default") is None


def test_create_with_impersonation_sends_every_group() -> None:
    server = FakeApiServer()
    with server.kube() as kube:
        kube.create(config_map("a"), as_user="eve", as_groups=["ml", "all"])
        with pytest.raises(ApiError) as caught:
            kube.create(config_map("a"))
    call = next(call for call in server.calls if call.method == "POST")
    assert call.headers.get_list("Impersonate-Group") == ["ml", "all"]
    assert (call.headers["Impersonate-User"], caught.value.reason) == ("eve", "AlreadyExists")


def test_status_of_a_node_survives_create_and_changes_through_its_subresource() -> None:
    server = FakeApiServer()
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"capacity": {"cpu": "1"}}}
    with server.kube() as kube:
        assert kube.create(node)["status"] == {"capacity": {"cpu": "1"}}
        kube.apply({**node, "status": {"capacity": {"cpu": "2"}}})
        assert server.get("Node", "n")["status"]["capacity"] == {"cpu": "1"}  # type: ignore[index]
        kube.apply({**node, "status": {"capacity": {"cpu": "2"}}}, subresource="status")
        assert server.get("Node", "n")["status"]["capacity"] == {"cpu": "2"}  # type: ignore[index]


def test_can_checks_the_user_or_another_one() -> None:
    server = FakeApiServer(can=lambda spec: spec.get("user") == "eve")
    with server.kube() as kube:
        assert not kube.can("create", "", "pods")
        assert kube.can("get", "batch", "jobs/status", "ns", as_user="eve", as_groups=["g"])
    spec = server.calls[-1].body["spec"]
    assert spec["resourceAttributes"]["subresource"] == "status"
    assert spec["groups"] == ["g"]


def test_gets_and_applies_are_retried_and_other_writes_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    server = FakeApiServer()
    server.fail("GET", "/version", 503, times=2)
    server.fail("POST", "configmaps", 503, times=1)
    with server.kube() as kube:
        assert kube.version() == "v1.36.3"
        with pytest.raises(ApiError) as caught:
            kube.create(config_map("a"))
        assert caught.value.status == 503
        server.fail("POST", "configmaps", 429, times=2)
        kube.create(config_map("a"))
        server.hang_up("GET", "/version", httpx.ConnectError("gone"), times=1)
        assert kube.version()
        server.hang_up("PATCH", "configmaps", httpx.ReadError("cut"), times=1)
        kube.apply(config_map("a"))
        server.hang_up("PATCH", "configmaps", httpx.ReadError("cut"), times=1)
        with pytest.raises(Unreachable):
            kube.patch("v1", "ConfigMap", "a", {"data": {}}, "default")


@pytest.mark.parametrize("status", [502, 503, 504])
def test_idempotent_requests_are_repeated_after_the_error_of_a_gateway(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    server = FakeApiServer()
    with server.kube() as kube:
        server.fail("GET", "/version", status, times=2)
        assert kube.version()
        server.fail("PATCH", "configmaps", status, times=1)
        kube.apply(config_map("a"))
        server.fail("DELETE", "configmaps", status, times=2)
        kube.delete("v1", "ConfigMap", "a", "default")
        assert kube.get_object("v1", "ConfigMap", "a", "default") is None
        server.fail("POST", "configmaps", status, times=1)
        with pytest.raises(ApiError):
            kube.create(config_map("a"))


def test_a_deletion_without_response_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    server = FakeApiServer()
    with server.kube() as kube:
        kube.apply(config_map("a"))
        server.hang_up("DELETE", "configmaps", httpx.ReadError("cut"), times=1)
        kube.delete("v1", "ConfigMap", "a", "default")
        assert kube.get_object("v1", "ConfigMap", "a", "default") is None


def test_an_unreachable_server_gets_four_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    server = FakeApiServer()
    server.fail("GET", "/version", 502)
    with server.kube() as kube, pytest.raises(ApiError):
        kube.version()
    assert len(server.calls) == 4


@pytest.mark.parametrize("answers", [True, False])
@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_request_that_takes_long_to_fail_is_repeated_once(
    method: str, monkeypatch: pytest.MonkeyPatch, *, answers: bool
) -> None:
    """A 504 or a timeout arrives after the 60 s that an API server allows a request; the caller can have a deadline."""
    clock = itertools.count(step=60)
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    monkeypatch.setattr("time.monotonic", lambda: float(next(clock)))
    server = FakeApiServer()
    path = "/api/v1/namespaces/default"
    if answers:
        server.fail(method, path, 504)
    else:
        server.hang_up(method, path, httpx.ReadTimeout("timed out"))
    with server.kube() as kube, pytest.raises((ApiError, Unreachable)):
        kube.request(method, path)
    assert len(server.calls) == 2


def test_an_invalid_retry_after_is_ignored() -> None:
    """A superscript two is a digit for str.isdigit but not for float, and a proxy can send any text."""
    assert _pause(0, "\u00b2") < 1 < _pause(0, "2")


@pytest.mark.parametrize(
    ("alert", "times"),
    [("[SSL: TLSV1_ALERT_DECODE_ERROR] tlsv1 alert decode error", 2), ("certificate verify failed", 1)],
)
def test_a_broken_connection_is_retried_and_a_certificate_error_is_not(
    alert: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    server, error = FakeApiServer(), httpx.ReadError(alert)
    error.__cause__ = ssl.SSLError(1, alert)
    server.hang_up("GET", "/version", error, times=1)
    with server.kube() as kube:
        if times == 2:
            assert kube.version()
        else:
            with pytest.raises(Unreachable):
                kube.version()


@pytest.mark.parametrize(
    ("set_up", "sentence"),
    [
        (lambda s: s.fail("GET", "/version", 401, "Unauthorized"), "does not accept the credentials"),
        (lambda s: s.fail("GET", "/version", 403, "Forbidden", "no"), "rejects the request"),
        (lambda s: s.hang_up("GET", "/version", httpx.ConnectTimeout("")), "does not respond in time"),
        (lambda s: setattr(s, "can", lambda spec: spec["resourceAttributes"]["resource"] != "nodes"), "create nodes"),
    ],
)
def test_preflight_distinguishes_errors(set_up: object, sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    server = FakeApiServer()
    set_up(server)  # type: ignore[operator]
    with server.kube() as kube, pytest.raises(MlclusterError, match=sentence) as caught:
        preflight(kube, permissions=[("create", "", "nodes"), ("get", "apps", "deployments")])
    assert "deployments" not in str(caught.value)


def test_preflight_passes() -> None:
    server = FakeApiServer()
    with server.kube() as kube:
        preflight(kube, permissions=[("create", "", "nodes")])
    reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert [call.path for call in server.calls] == ["/version", reviews]


def test_errors_have_their_own_classes() -> None:
    server = FakeApiServer()
    server.fail("GET", "/a", 401)
    server.fail("GET", "/b", 403)
    with server.kube() as kube:
        with pytest.raises(Unauthorized):
            kube.request("GET", "/a")
        with pytest.raises(Forbidden):
            kube.request("GET", "/b")
