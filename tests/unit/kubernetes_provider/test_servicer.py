"""The provider behind a real gRPC channel, in front of an API server in memory."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import empty_pb2
from pulumi.runtime.proto import engine_pb2, plugin_pb2, provider_pb2_grpc, status_pb2
from pulumi.runtime.proto import provider_pb2 as pb

from mlcluster.kubernetes_provider.faults import Fault, Faults
from mlcluster.kubernetes_provider.server import serve
from mlcluster.kubernetes_provider.servicer import Provider
from mlcluster.kubernetes_provider.values import UNKNOWN, Secret, decode, encode, plain
from tests.fakes.api_server import FakeApiServer, Object, Refusal

pytestmark = pytest.mark.unit

LABELS = {"app.kubernetes.io/managed-by": "mlcluster", "mlcluster.dev/cluster": "atlas"}
TOKEN = "kubernetes:core/v1:ConfigMap"
URN = "urn:pulumi:dev::p::kubernetes:core/v1:ConfigMap::a"


class Engine:
    """Calls the provider like the engine, with plain dicts."""

    def __init__(self, stub: Any) -> None:
        self.stub = stub

    def create(self, inputs: Object, *, preview: bool = False, urn: str = URN, timeout: float = 0) -> Object:
        request = pb.CreateRequest(urn=urn, type=TOKEN, properties=encode(inputs), preview=preview, timeout=timeout)
        answer = self.stub.Create(request)
        return {"id": answer.id, **decode(answer.properties)}

    def update(self, before: Object, old: Object, new: Object, *, preview: bool = False) -> Object:
        parts: Any = {"olds": encode(before), "old_inputs": encode(old), "news": encode(new)}
        request = pb.UpdateRequest(id=before["id"], urn=URN, type=TOKEN, preview=preview, **parts)
        return {"id": before["id"], **decode(self.stub.Update(request).properties)}

    def diff(self, before: Object, old: Object, new: Object) -> Any:
        parts: Any = {"olds": encode(before), "old_inputs": encode(old), "news": encode(new)}
        return self.stub.Diff(pb.DiffRequest(id=before["id"], urn=URN, type=TOKEN, **parts))

    def read(self, before: Object, inputs: Object) -> tuple[str, Object, Object]:
        request = pb.ReadRequest(id=before["id"], urn=URN, type=TOKEN, properties=encode(before), inputs=encode(inputs))
        answer = self.stub.Read(request)
        return answer.id, decode(answer.inputs), decode(answer.properties)

    def delete(self, before: Object, inputs: Object, timeout: float = 0) -> None:
        parts: Any = {"properties": encode(before), "old_inputs": encode(inputs)}
        self.stub.Delete(pb.DeleteRequest(id=before["id"], urn=URN, type=TOKEN, timeout=timeout, **parts))


@pytest.fixture
def server() -> FakeApiServer:
    return FakeApiServer()


@pytest.fixture
def faults() -> Faults:
    return Faults()


@pytest.fixture
def engine(server: FakeApiServer, faults: Faults, tmp_path: Path) -> Iterator[Engine]:
    provider = Provider(lambda _settings: server.kube(), pace=0.001)
    address = f"unix:{tmp_path}/provider"
    running, _ = serve(provider, faults, address)
    with grpc.insecure_channel(address) as channel:
        stub = provider_pb2_grpc.ResourceProviderStub(channel)
        stub.Configure(pb.ConfigureRequest(args=encode({"kubeconfig": "/a/path"})))
        yield Engine(stub)
    running.stop(None).wait()
    provider.close()


def config_map(**data: Any) -> Object:
    metadata = {"name": "a", "namespace": "default", "labels": LABELS}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def message(call: Callable[[], object]) -> str:
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return str(caught.value.details())


def test_create_writes_the_notes_of_the_official_provider(engine: Engine, server: FakeApiServer) -> None:
    made = engine.create(config_map(x="1"))
    assert made["id"] == "default/a"
    assert made["__inputs"] == config_map(x="1")
    assert (made["__initialApiVersion"], made["__fieldManager"]) == ("v1", "mlcluster")
    assert "managedFields" not in made["metadata"]
    assert server.get("ConfigMap", "a", "default")["data"] == {"x": "1"}  # type: ignore[index]


def test_a_preview_writes_nothing_and_leaves_server_fields_unknown(engine: Engine, server: FakeApiServer) -> None:
    planned = engine.create(config_map(x="1"), preview=True)
    assert planned["data"] == {"x": "1"}
    assert planned["metadata"]["uid"] == planned["status"] == UNKNOWN
    assert server.get("ConfigMap", "a", "default") is None


def test_a_preview_of_unknown_values_sends_no_request(engine: Engine, server: FakeApiServer) -> None:
    before = len(server.calls)
    assert engine.create(config_map(x=UNKNOWN), preview=True)["data"] == {"x": UNKNOWN}
    assert len(server.calls) == before


@pytest.mark.parametrize(("status", "reason"), [(404, "NotFound"), (403, "Forbidden")])
def test_a_preview_without_permission_returns_the_inputs(
    engine: Engine, server: FakeApiServer, status: int, reason: str
) -> None:
    server.fail("PATCH", "configmaps/a", status, reason, 'namespaces "x" not found')
    assert engine.create(config_map(x="1"), preview=True)["data"] == {"x": "1"}


def test_a_foreign_object_is_refused_and_untouched(engine: Engine, server: FakeApiServer) -> None:
    server.put({**config_map(x="theirs"), "metadata": {"name": "a", "namespace": "default"}})
    assert "already exists and belongs to" in message(lambda: engine.create(config_map(x="1"), preview=True))
    assert "already exists and belongs to" in message(lambda: engine.create(config_map(x="1")))
    assert not [call for call in server.calls if call.method != "GET"]


def test_a_managed_object_is_adopted(engine: Engine, server: FakeApiServer) -> None:
    server.put(config_map(x="before"))
    assert engine.create(config_map(x="1"))["data"] == {"x": "1"}
    without_label = config_map(x="1")
    without_label["metadata"] = {"name": "a", "namespace": "default"}
    assert "belongs to mlcluster, cluster 'atlas'" in message(lambda: engine.create(without_label))


def test_an_object_that_is_being_deleted_is_waited_for(engine: Engine, server: FakeApiServer) -> None:
    leaving = config_map()
    leaving["metadata"] = {**leaving["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x/y"]}
    server.put(leaving)
    assert "finalizers: x/y" in message(lambda: engine.create(config_map(x="1")))


def test_a_new_kind_and_a_starting_webhook_are_waited_for(engine: Engine, server: FakeApiServer) -> None:
    down = 'Internal error occurred: failed calling webhook "m.kb.io": Post "https://x": connect: connection refused'
    server.fail("PATCH", "configmaps/a", 500, "InternalError", down, times=3)
    server.fail("PATCH", "configmaps/a", 404, "", "404 page not found", times=2)
    server.fail("PATCH", "configmaps/a", 503, "", "unavailable", times=1)
    assert engine.create(config_map(x="1"))["data"] == {"x": "1"}


def test_a_rejection_by_a_webhook_is_not_retried(engine: Engine, server: FakeApiServer) -> None:
    server.fail("PATCH", "configmaps/a", 500, "InternalError", "failed calling webhook: x509: unknown authority")
    assert "x509" in message(lambda: engine.create(config_map(x="1")))
    assert sum(call.method == "PATCH" for call in server.calls) == 1


def immutable_data(old: Object | None, new: Object) -> None:
    if old is not None and old.get("data") != new.get("data"):
        causes = [{"field": "data.x", "message": "field is immutable", "reason": "FieldValueInvalid"}]
        raise Refusal(422, "Invalid", "data.x: Invalid value: field is immutable", causes)


def test_diff_sends_requests_only_for_changes(engine: Engine, server: FakeApiServer) -> None:
    made = engine.create(config_map(x="1"))
    asked = len(server.calls)
    assert engine.diff(made, config_map(x="1"), config_map(x="1")).changes == pb.DiffResponse.DIFF_NONE
    assert len(server.calls) == asked
    found = engine.diff(made, config_map(x="1"), config_map(x="2"))
    assert dict(found.detailedDiff) == {"data.x": pb.PropertyDiff(kind=pb.PropertyDiff.UPDATE, inputDiff=True)}
    assert (list(found.replaces), found.deleteBeforeReplace) == ([], False)


def test_immutable_fields_cause_a_replacement(engine: Engine, server: FakeApiServer) -> None:
    made = engine.create(config_map(x="1"))
    server.on_write = immutable_data
    found = engine.diff(made, config_map(x="1"), config_map(x="2"))
    assert (list(found.replaces), found.deleteBeforeReplace) == (["data.x"], True)
    assert found.detailedDiff["data.x"].kind == pb.PropertyDiff.UPDATE_REPLACE
    planned = engine.create(config_map(x="2"), preview=True)
    assert (planned["metadata"]["name"], planned["data"]) == ("a", {"x": "2"})


def test_another_name_is_a_replacement_that_creates_first(engine: Engine) -> None:
    made = engine.create(config_map(x="1"))
    renamed = config_map(x="1")
    renamed["metadata"] = {**renamed["metadata"], "name": "b"}
    found = engine.diff(made, config_map(x="1"), renamed)
    assert (list(found.replaces), found.deleteBeforeReplace) == (["metadata.name"], False)


def test_update_removes_unwanted_fields(engine: Engine, server: FakeApiServer) -> None:
    made = engine.create(config_map(x="1", y="2"))
    planned = engine.update(made, config_map(x="1", y="2"), config_map(x="3"), preview=True)
    assert planned["data"] == {"x": "3"}
    assert planned["metadata"]["uid"] == made["metadata"]["uid"]
    changed = engine.update(made, config_map(x="1", y="2"), config_map(x="3"))
    assert changed["data"] == server.get("ConfigMap", "a", "default")["data"] == {"x": "3"}  # type: ignore[index]


def drop_and_check_uid(old: Object | None, new: Object) -> None:
    """Treat a UID in an apply like a real server."""
    wanted = new["metadata"].get("uid")
    if old is not None and wanted != old["metadata"]["uid"]:
        raise Refusal(422, "Invalid", "uid", [{"field": "metadata.uid", "message": "field is immutable"}])


def test_update_never_writes_to_a_replaced_object(engine: Engine, server: FakeApiServer) -> None:
    made = engine.create(config_map(x="1"))
    del server.objects["", "ConfigMap", "default", "a"]
    server.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}})
    server.on_write = drop_and_check_uid
    assert "already exists and belongs" in message(lambda: engine.update(made, config_map(x="1"), config_map(x="2")))
    assert engine.read(made, config_map(x="1"))[0] == ""


def test_refresh_finds_drift_only_in_managed_fields(engine: Engine, server: FakeApiServer) -> None:
    made = engine.create(config_map(x="1"))
    live = server.get("ConfigMap", "a", "default")
    assert live is not None
    live["data"] = {"x": "edited", "theirs": "y"}
    identifier, inputs, state = engine.read(made, config_map(x="1"))
    assert (identifier, inputs) == ("default/a", config_map(x="edited"))
    assert state["data"] == {"x": "edited", "theirs": "y"}
    assert state["__mlclusterOwner"] == "atlas"


def test_refresh_of_an_absent_object_and_import(engine: Engine, server: FakeApiServer) -> None:
    made = engine.create(config_map(x="1"))
    identifier, inputs, _ = engine.read({"id": made["id"]}, {})
    assert (identifier, inputs) == ("default/a", config_map(x="1"))
    engine.delete(made, config_map(x="1"))
    assert engine.read(made, config_map(x="1"))[0] == ""


def test_delete_refuses_unmanaged_objects(engine: Engine, server: FakeApiServer) -> None:
    made = engine.create(config_map(x="1"))
    live = server.get("ConfigMap", "a", "default")
    assert live is not None
    live["metadata"]["labels"] = {}
    unlabelled = engine.read(made, config_map(x="1"))
    assert "is not deleted: it now belongs to" in message(
        lambda: engine.delete({"id": made["id"], **unlabelled[2]}, unlabelled[1])
    )
    assert server.get("ConfigMap", "a", "default") is not None


def test_delete_keeps_a_namesake_and_ignores_a_missing_object(engine: Engine, server: FakeApiServer) -> None:
    made = engine.create(config_map(x="1"))
    live = server.get("ConfigMap", "a", "default")
    assert live is not None
    live["metadata"]["uid"] = "another"
    engine.delete(made, config_map(x="1"))
    assert server.get("ConfigMap", "a", "default") is not None
    del server.objects["", "ConfigMap", "default", "a"]
    engine.delete(made, config_map(x="1"))


def test_delete_names_the_finalizers(engine: Engine, server: FakeApiServer) -> None:
    made = engine.create(config_map(x="1"))
    live = server.get("ConfigMap", "a", "default")
    assert live is not None
    live["metadata"]["finalizers"] = ["kueue.x-k8s.io/resource-in-use"]
    assert "finalizers: kueue.x-k8s.io/resource-in-use" in message(lambda: engine.delete(made, config_map(x="1"), 1))


@pytest.fixture
def warnings(engine: Engine, tmp_path: Path) -> Iterator[list[tuple[str, str]]]:
    """Yield (URN, message) of each warning that the engine receives."""
    received: list[tuple[str, str]] = []

    def log(request: Any, _context: Any) -> Any:
        assert request.severity == engine_pb2.WARNING
        received.append((request.urn, request.message))
        return empty_pb2.Empty()

    handler = grpc.unary_unary_rpc_method_handler(
        log, engine_pb2.LogRequest.FromString, empty_pb2.Empty.SerializeToString
    )
    listening = grpc.server(ThreadPoolExecutor(max_workers=1))
    listening.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("pulumirpc.Engine", {"Log": handler}),))
    address = f"unix:{tmp_path}/engine"
    listening.add_insecure_port(address)
    listening.start()
    engine.stub.Attach(plugin_pb2.PluginAttach(address=address))
    yield received
    listening.stop(None).wait()


def test_a_deletion_that_a_finalizer_blocks_is_a_warning_while_it_waits(
    engine: Engine, server: FakeApiServer, warnings: list[tuple[str, str]]
) -> None:
    """The engine's user sees the reason long before the deletion fails, and only once."""
    made = engine.create(config_map(x="1"))
    live = server.get("ConfigMap", "a", "default")
    assert live is not None
    live["metadata"]["finalizers"] = ["example.test/never"]
    live["status"] = {
        "conditions": [
            {"type": "NamespaceContentRemaining", "status": "True", "message": "pods. has 1 resource instances"},
            {"type": "NamespaceDeletionContentFailure", "status": "False", "message": "all content deleted"},
        ]
    }
    assert "still being deleted" in message(lambda: engine.delete(made, config_map(x="1")))
    ((urn, warning),) = warnings
    assert urn == URN
    assert warning.startswith("ConfigMap default/a is still being deleted")
    assert warning.endswith("finalizers: example.test/never. pods. has 1 resource instances")


def test_a_slow_deletion_is_not_a_warning(
    engine: Engine, server: FakeApiServer, warnings: list[tuple[str, str]]
) -> None:
    """The garbage collector deletes the dependents first: pods may use their grace period."""
    made = engine.create(config_map(x="1"))
    live = server.get("ConfigMap", "a", "default")
    assert live is not None
    live["metadata"]["finalizers"] = ["foregroundDeletion"]
    assert "still being deleted" in message(lambda: engine.delete(made, config_map(x="1")))
    assert not warnings


def job() -> Object:
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "default"}, "spec": {}}


def test_an_unready_object_is_kept_by_the_error_details(engine: Engine) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        engine.create(job(), timeout=1)
    metadata: Any = dict(caught.value.trailing_metadata())  # type: ignore[arg-type] # the stubs do not know its shape
    status = status_pb2.Status.FromString(metadata["grpc-status-details-bin"])
    kept = pb.ErrorResourceInitFailed()
    assert status.details[0].Unpack(kept)
    assert kept.id == "default/j"
    assert decode(kept.inputs) == job()
    assert list(kept.reasons) == ["Job default/j exists but is not ready: the job is not complete"]


def test_cancel_ends_the_wait(engine: Engine, server: FakeApiServer) -> None:
    engine.stub.Cancel(empty_pb2.Empty())
    assert "interrupted while waiting" in message(lambda: engine.create(job(), timeout=1_000_000))


def node(cpu: str) -> Object:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"capacity": {"cpu": cpu}}}


def test_a_node_is_created_with_its_status(engine: Engine, server: FakeApiServer) -> None:
    made = engine.create(node("1"))
    assert made["status"] == {"capacity": {"cpu": "1"}}
    fields = server.get("Node", "n")["metadata"]["managedFields"]  # type: ignore[index]
    assert fields == [{"manager": "mlcluster", "operation": "Apply"}]
    changed = engine.update(made, node("1"), node("2"))
    assert changed["status"]["capacity"] == {"cpu": "2"}


def test_drift_in_the_status_of_a_node(engine: Engine, server: FakeApiServer) -> None:
    made = engine.create(node("1"))
    live = server.get("Node", "n")
    assert live is not None
    live["status"] = {"capacity": {"cpu": "7"}, "conditions": [{"type": "Ready"}]}
    assert engine.read(made, node("1"))[1] == node("7")


def test_another_writer_can_move_the_managed_fields_entry(engine: Engine, server: FakeApiServer) -> None:
    server.fail("PATCH", "nodes/n", 422, "Invalid", "testing value failed", times=1)
    engine.create(node("1"))
    fields = server.get("Node", "n")["metadata"]["managedFields"]  # type: ignore[index]
    assert fields == [{"manager": "mlcluster", "operation": "Apply"}]


def test_secrets_stay_secret_in_all_responses(engine: Engine, server: FakeApiServer) -> None:
    check = engine.stub.Check(
        pb.CheckRequest(
            urn=URN,
            type="kubernetes:core/v1:Secret",
            news=encode({"metadata": {"name": "s", "namespace": "default"}, "stringData": {"p": "swordfish"}}),
        )
    )
    inputs = decode(check.inputs)
    made = engine.create(inputs)
    assert isinstance(made["data"], Secret)
    assert isinstance(made["__inputs"]["data"], Secret)
    _, read, state = engine.read(made, inputs)
    assert read == inputs
    assert isinstance(state["data"], Secret)
    server.fail("PATCH", "secrets/s", 422, "Invalid", "bad: c3dvcmRmaXNo (swordfish)")
    changed = {**inputs, "data": Secret({"p": "c3dvcmRmaXNo", "q": "QQ=="})}
    assert message(lambda: engine.update(made, inputs, changed)) == "bad: [secret] ([secret])"


@pytest.mark.parametrize(
    "faults", [Faults([Fault("Create", urn="::a$", when="after", skip=1, times=1, fail="power cut")])]
)
def test_faults_apply_to_their_rpcs(engine: Engine, server: FakeApiServer, faults: Faults) -> None:
    engine.create(config_map(x="1"))
    assert message(lambda: engine.create(config_map(x="2"))) == "power cut"
    assert server.get("ConfigMap", "a", "default")["data"] == {"x": "2"}  # type: ignore[index]
    engine.create(config_map(x="3"))


def test_without_a_known_cluster_previews_return_inputs_and_writes_fail(engine: Engine) -> None:
    engine.stub.Configure(pb.ConfigureRequest(args=encode({"kubeconfig": UNKNOWN})))
    assert engine.create(config_map(x="1"), preview=True)["data"] == {"x": "1"}
    assert "not known yet" in message(lambda: engine.create(config_map(x="1")))


def test_a_provider_argument_is_checked_and_compared(engine: Engine) -> None:
    checked = engine.stub.CheckConfig(pb.CheckRequest(news=encode({"renderYamlToDirectory": "x", "namespace": "n"})))
    assert [failure.property for failure in checked.failures] == ["renderYamlToDirectory"]
    old, new = {"clusterIdentifier": "a"}, {"clusterIdentifier": "b"}
    found = engine.stub.DiffConfig(pb.DiffRequest(old_inputs=encode(old), news=encode(new)))
    assert list(found.replaces) == ["clusterIdentifier"]
    assert plain(decode(checked.inputs))["namespace"] == "n"
    assert engine.stub.GetPluginInfo(empty_pb2.Empty()).version == "4.34.2"
    assert engine.stub.Handshake(pb.ProviderHandshakeRequest()).accept_secrets


def test_other_rpcs_are_unimplemented(engine: Engine) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        engine.stub.GetSchema(pb.GetSchemaRequest())
    assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED
