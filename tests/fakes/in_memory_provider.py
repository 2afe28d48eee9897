"""A `kubernetes` resource provider over a dict: enough of the protocol to drive the real engine, with knobs.

    python -m tests.fakes.in_memory_provider

serves an empty world as a plugin that the engine starts by itself: it prints its port, and the engine ends it.
"""

import threading
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.protobuf import empty_pb2, json_format, struct_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
WORKERS = 64
"""More than the engine's changes at a time: every one may be held at the gate while other calls are still answered."""


def _plain(struct: Any) -> dict[str, Any]:
    plain: dict[str, Any] = json_format.MessageToDict(struct)
    return plain


def _struct(values: dict[str, Any]) -> struct_pb2.Struct:
    return json_format.ParseDict(values, struct_pb2.Struct())


def _identifier(urn: str) -> str:
    return urn.split("::", 3)[-1]


def _object_id(struct: Any) -> str:
    metadata = _plain(struct)["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if "namespace" in metadata else str(metadata["name"])


class Gate:
    """Keeps the answers to creates, updates and deletes back: the server has done its work, the engine waits for word.

    A test closes and opens it, so that what happens in between does not depend on how fast the machine is. It begins
    open, and `serve` opens it at the end: else the server's threads would never end.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._open = True
        self._through = 0
        self._held = 0

    @property
    def held(self) -> int:
        """How many answers wait."""
        with self._changed:
            return self._held

    def close(self, *, after: int) -> None:
        """Lets `after` more answers through and holds the others until `open`."""
        with self._changed:
            self._open, self._through = False, after

    def open(self) -> None:
        """Lets all through, those that wait first."""
        with self._changed:
            self._open = True
            self._changed.notify_all()

    def leave(self) -> None:
        """Called by the server when it is ready to answer; returns when it may."""
        with self._changed:
            if not self._open and self._through:
                self._through -= 1
                return
            self._held += 1
            self._changed.wait_for(lambda: self._open)
            self._held -= 1


@dataclass
class World:
    """What is on the server, by plan id, and how the provider misbehaves.

    Attributes:
        objects: inputs of each existing object.
        calls: every call: ("Create", "Namespace/a").
        refuse: message by plan id: creating or updating it fails.
        upsert: whether creating what exists takes it over; else it is refused.
        gate: holds answers back.
        cancelled: the engine told the provider to stop: it has seen an interruption, or the operation has ended.
    """

    objects: dict[str, dict[str, Any]] = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)
    refuse: dict[str, str] = field(default_factory=dict)
    upsert: bool = True
    gate: Gate = field(default_factory=Gate)
    cancelled: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, call: str, identifier: str) -> None:
        with self.lock:
            self.calls.append((call, identifier))

    def called(self, call: str) -> list[str]:
        """Ids of one kind of call, sorted."""
        with self.lock:
            return sorted(identifier for name, identifier in self.calls if name == call)


class InMemoryProvider(provider_pb2_grpc.ResourceProviderServicer):
    """Serves a `World`; a change below `immutable` replaces the object, everything else updates it."""

    def __init__(self, world: World) -> None:
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
        return provider_pb2.ConfigureResponse(supportsPreview=True, acceptResources=True)

    def Cancel(self, request: Any, context: Any) -> Any:  # noqa: N802
        self.world.cancelled.set()
        return empty_pb2.Empty()

    def Check(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.CheckResponse(inputs=request.news)

    def Diff(self, request: Any, context: Any) -> Any:  # noqa: N802
        old, new = _plain(request.old_inputs), _plain(request.news)
        keys = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
        kinds = provider_pb2.DiffResponse
        return kinds(
            changes=kinds.DIFF_SOME if keys else kinds.DIFF_NONE,
            diffs=keys,
            replaces=[key for key in keys if key == "immutable"],
            hasDetailedDiff=True,
            detailedDiff={
                key: provider_pb2.PropertyDiff(
                    kind=provider_pb2.PropertyDiff.UPDATE_REPLACE
                    if key == "immutable"
                    else provider_pb2.PropertyDiff.UPDATE,
                    inputDiff=True,
                )
                for key in keys
            },
            deleteBeforeReplace=True,
        )

    def Create(self, request: Any, context: Any) -> Any:  # noqa: N802
        identifier = _identifier(request.urn)
        if request.preview:
            return provider_pb2.CreateResponse(properties=request.properties)
        self._change("Create", identifier, context)
        with self.world.lock:
            if identifier in self.world.objects and not self.world.upsert:
                context.abort(grpc.StatusCode.ALREADY_EXISTS, f"{identifier} already exists")
            self.world.objects[identifier] = _plain(request.properties)
        self.world.gate.leave()
        return provider_pb2.CreateResponse(id=_object_id(request.properties), properties=request.properties)

    def Update(self, request: Any, context: Any) -> Any:  # noqa: N802
        if not request.preview:
            self._change("Update", _identifier(request.urn), context)
            self.world.objects[_identifier(request.urn)] = _plain(request.news)
            self.world.gate.leave()
        return provider_pb2.UpdateResponse(properties=request.news)

    def Read(self, request: Any, context: Any) -> Any:  # noqa: N802
        found = self.world.objects.get(_identifier(request.urn))
        self.world.note("Read", _identifier(request.urn))
        if found is None or request.id != _object_id(_struct(found)):
            return provider_pb2.ReadResponse()
        return provider_pb2.ReadResponse(id=request.id, properties=_struct(found), inputs=_struct(found))

    def Delete(self, request: Any, context: Any) -> Any:  # noqa: N802
        self._change("Delete", _identifier(request.urn), context)
        self.world.objects.pop(_identifier(request.urn), None)
        self.world.gate.leave()
        return empty_pb2.Empty()

    def _change(self, call: str, identifier: str, context: Any) -> None:
        self.world.note(call, identifier)
        if identifier in self.world.refuse:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, self.world.refuse[identifier])


@contextmanager
def serve(world: World) -> Iterator[int]:
    """Serves a world on a loopback port until the context ends; yields the port."""
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=WORKERS))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(InMemoryProvider(world), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield int(port)
    finally:
        world.gate.open()
        server.stop(0).wait()


if __name__ == "__main__":
    with serve(World()) as listening:
        print(listening, flush=True)
        threading.Event().wait()
