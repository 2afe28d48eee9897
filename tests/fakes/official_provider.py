"""Stand-in for the official Kubernetes provider: it copies what makes that one different from the built-in provider.

It talks to an API server through `Kube`: `FakeApiServer.kube()` in the engine tier, a lab's kubeconfig in the lab tier.
Copied from pulumi-kubernetes 4.32 (provider/pkg):

- A create is a plain POST with the manager `pulumi-kubernetes`; an existing object is "already exists", in a preview
  too, whose POST is a dry run (await/await.go, `Creation`; upsert is off by default since 4.29).
- Cancel aborts requests that wait for an answer: the object exists, and the engine records a failed create without a
  pending operation (provider/provider.go, `Cancel` and `makeCancellationContext`; await/await.go uses its context).
- An update is a server-side apply by name, with force and under a random manager, without a look at the UID: an object
  that took the name is taken over (provider/provider.go, `Update`; await/await.go, `updateResource`).
- Only the fields of provider/diff.go replace an object; PriorityClass and custom resources are not among them.
- A delete goes by name (await/await.go, `Deletion`).
"""

import secrets
import threading
import time
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

from mlcluster.kube.client import Kube
from mlcluster.kube.errors import ApiError
from tests.fakes.in_memory_provider import WORKERS, Gate, _identifier, _struct
from tests.fakes.in_memory_provider import _plain as _with_floats

Object = dict[str, Any]
FORCE_NEW = {
    "RoleBinding": ["roleRef"],
    "ClusterRoleBinding": ["roleRef"],
    "StorageClass": ["parameters", "provisioner"],
    "Secret": ["type"],
}
"""The part of provider/diff.go that tests meet: top-level fields by kind."""
_MANAGER = "__fieldManager"
_GONE_SECONDS = 120.0


@dataclass
class OfficialWorld:
    """The API server behind the provider, and what the tests see of the provider.

    Attributes:
        kube: the API server.
        gate: holds the answers to creates back.
        calls: every change: ("Create", "Namespace/a").
        cancelled: the engine told the provider to stop.
    """

    kube: Kube
    gate: Gate = field(default_factory=Gate)
    calls: list[tuple[str, str]] = field(default_factory=list)
    cancelled: threading.Event = field(default_factory=threading.Event)


class OfficialProvider(provider_pb2_grpc.ResourceProviderServicer):
    """Serves objects only; it knows no Helm releases."""

    def __init__(self, world: OfficialWorld) -> None:
        self.world = world

    def Handshake(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.ProviderHandshakeResponse(accept_secrets=False, accept_resources=True)

    def Attach(self, request: Any, context: Any) -> Any:  # noqa: N802
        return empty_pb2.Empty()

    def GetPluginInfo(self, request: Any, context: Any) -> Any:  # noqa: N802
        return plugin_pb2.PluginInfo(version="4.34.2")

    def CheckConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.CheckResponse(inputs=request.news)

    def DiffConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.DiffResponse(changes=provider_pb2.DiffResponse.DIFF_NONE)

    def Configure(self, request: Any, context: Any) -> Any:  # noqa: N802
        self.world.cancelled.clear()  # the original is a new process for each operation
        return provider_pb2.ConfigureResponse(supportsPreview=True, acceptResources=True)

    def Cancel(self, request: Any, context: Any) -> Any:  # noqa: N802
        self.world.cancelled.set()
        self.world.gate.open()
        return empty_pb2.Empty()

    def Check(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.CheckResponse(inputs=request.news)

    def Diff(self, request: Any, context: Any) -> Any:  # noqa: N802
        old, new = _plain(request.old_inputs), _plain(request.news)
        paths = sorted(_changed(old, new))
        forced = [*FORCE_NEW.get(str(new.get("kind")), []), "metadata.name", "metadata.namespace"]
        replaces = [path for path in paths if any(path == one or path.startswith(f"{one}.") for one in forced)]
        kinds = provider_pb2.PropertyDiff
        return provider_pb2.DiffResponse(
            changes=provider_pb2.DiffResponse.DIFF_SOME if paths else provider_pb2.DiffResponse.DIFF_NONE,
            diffs=sorted({path.partition(".")[0] for path in paths}),
            replaces=sorted({path.partition(".")[0] for path in replaces}),
            hasDetailedDiff=True,
            detailedDiff={
                path: kinds(kind=kinds.UPDATE_REPLACE if path in replaces else kinds.UPDATE, inputDiff=True)
                for path in paths
            },
            deleteBeforeReplace=bool(replaces),
        )

    def Create(self, request: Any, context: Any) -> Any:  # noqa: N802
        inputs = _plain(request.properties)
        if not request.preview:
            self._note("Create", request.urn)
        try:
            live = self.world.kube.create(inputs, dry_run=request.preview, field_manager="pulumi-kubernetes")
        except ApiError as error:
            if request.preview and error.status == 404:  # its namespace is in the same preview
                return provider_pb2.CreateResponse(properties=request.properties)
            _abort(context, error)
        if request.preview:
            return provider_pb2.CreateResponse(properties=request.properties)
        self.world.gate.leave()
        if self.world.cancelled.is_set():
            context.abort(grpc.StatusCode.UNKNOWN, "context canceled")
        return provider_pb2.CreateResponse(id=_name(inputs), properties=_struct({**live, _MANAGER: _manager()}))

    def Update(self, request: Any, context: Any) -> Any:  # noqa: N802
        if request.preview:
            return provider_pb2.UpdateResponse(properties=request.news)
        self._note("Update", request.urn)
        manager = str(_plain(request.olds).get(_MANAGER) or _manager())
        try:
            live = self.world.kube.apply(_plain(request.news), field_manager=manager)
        except ApiError as error:
            _abort(context, error)
        return provider_pb2.UpdateResponse(properties=_struct({**live, _MANAGER: manager}))

    def Read(self, request: Any, context: Any) -> Any:  # noqa: N802
        old, inputs = _plain(request.properties), _plain(request.inputs)
        live = self._live(inputs or old)
        if live is None:
            return provider_pb2.ReadResponse()
        state = {**live, _MANAGER: old.get(_MANAGER) or _manager()}
        return provider_pb2.ReadResponse(
            id=request.id, properties=_struct(state), inputs=_struct(_pruned(live, inputs))
        )

    def Delete(self, request: Any, context: Any) -> Any:  # noqa: N802
        self._note("Delete", request.urn)
        old = _plain(request.properties)
        metadata = old["metadata"]
        try:
            self.world.kube.delete(old["apiVersion"], old["kind"], metadata["name"], metadata.get("namespace"))
        except ApiError as error:
            _abort(context, error)
        until = time.monotonic() + _GONE_SECONDS
        while self._live(old) is not None:
            if time.monotonic() > until:
                context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, f"{_identifier(request.urn)} is still there")
            time.sleep(0.05)
        return empty_pb2.Empty()

    def _live(self, manifest: Object) -> Object | None:
        metadata = manifest["metadata"]
        return self.world.kube.get_object(
            manifest["apiVersion"], manifest["kind"], metadata["name"], metadata.get("namespace")
        )

    def _note(self, call: str, urn: str) -> None:
        self.world.calls.append((call, _identifier(urn)))


def _plain(struct: Any) -> Object:
    """The values of a message; it has no whole numbers, and the API server takes no `20.0` for one."""
    plain: Object = _whole(_with_floats(struct))
    return plain


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _manager() -> str:
    return f"pulumi-kubernetes-{secrets.token_hex(4)}"


def _name(manifest: Object) -> str:
    metadata = manifest["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else str(metadata["name"])


def _abort(context: Any, error: ApiError) -> NoReturn:
    context.abort(grpc.StatusCode.UNKNOWN, str(error))
    raise AssertionError("abort raises")


def _changed(old: Any, new: Any, path: str = "") -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old.keys() | new.keys():
            yield from _changed(old.get(key), new.get(key), f"{path}.{key}" if path else str(key))
    elif old != new:
        yield path


def _pruned(live: Any, inputs: Any) -> Any:
    """The live values of what the program asked for (provider/provider.go, `pruneLiveState`)."""
    if not isinstance(live, dict) or not isinstance(inputs, dict):
        return live
    return {key: _pruned(live[key], value) for key, value in inputs.items() if key in live}


@contextmanager
def serve_official(world: OfficialWorld) -> Iterator[int]:
    """Serves the stand-in on a loopback port until the context ends; yields the port."""
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=WORKERS))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(OfficialProvider(world), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield int(port)
    finally:
        world.gate.open()
        server.stop(0).wait()
