"""Attacks of another user of the machine on the program, the engine and the built-in provider while `up` runs."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import psutil
import pulumi
import pytest
from google.protobuf import empty_pb2
from pulumi.runtime.proto import provider_pb2_grpc
from pulumi_kubernetes.core.v1 import ConfigMap, Namespace

from mlcluster.engine.command import EngineCommand
from mlcluster.engine.private_servers import private_servers
from mlcluster.kube.client import Kube
from mlcluster.lab.lab import Lab
from mlcluster.lab.toolchain import Toolchain
from tests.fakes.provider_stack import ProviderStack
from tests.strangers import as_root, run_as_stranger

pytestmark = pytest.mark.engine

ASK = """
import json, sys
import grpc
from google.protobuf import empty_pb2, struct_pb2
from pulumi.runtime.proto import language_pb2, language_pb2_grpc, provider_pb2, provider_pb2_grpc, resource_pb2_grpc
from pulumi.runtime.proto import resource_pb2

def text(**fields):
    made = struct_pb2.Struct()
    made.update(fields)
    return made

URN = "urn:pulumi:dev::trial::kubernetes:core/v1:Secret::stolen"
OBJECT = text(apiVersion="v1", kind="Secret", metadata={"name": "stolen", "namespace": "kube-system"})
CALLS = {
    "info": lambda c: provider_pb2_grpc.ResourceProviderStub(c).GetPluginInfo(empty_pb2.Empty(), timeout=10),
    "read": lambda c: provider_pb2_grpc.ResourceProviderStub(c).Read(
        provider_pb2.ReadRequest(id="kube-system/stolen", urn=URN, type="kubernetes:core/v1:Secret"), timeout=10),
    "create": lambda c: provider_pb2_grpc.ResourceProviderStub(c).Create(
        provider_pb2.CreateRequest(urn=URN, type="kubernetes:core/v1:Secret", properties=OBJECT), timeout=10),
    "cancel": lambda c: provider_pb2_grpc.ResourceProviderStub(c).Cancel(empty_pb2.Empty(), timeout=10),
    "program": lambda c: language_pb2_grpc.LanguageRuntimeStub(c).GetPluginInfo(empty_pb2.Empty(), timeout=10),
    "monitor": lambda c: resource_pb2_grpc.ResourceMonitorStub(c).SupportsFeature(
        resource_pb2.SupportsFeatureRequest(id="secrets"), timeout=10),
}
found = {}
for port in sys.argv[1].split(","):
    for name, call in CALLS.items():
        with grpc.insecure_channel("127.0.0.1:" + port) as channel:
            try:
                call(channel)
            except grpc.RpcError as error:
                found[port + " " + name] = error.code().name
            else:
                found[port + " " + name] = "ANSWERED"
print(json.dumps(found))
"""
CLOSED = {"UNAVAILABLE"}
"""The status of a connection that was closed: any other one comes from a server that read the request."""


@dataclass
class Started:
    """A provider's process and the port that it printed."""

    process: "subprocess.Popen[str]"
    port: int


@pytest.fixture
def room() -> Iterator[Path]:
    """Yield a directory with a short path, as a Unix socket needs it; pytest's own may be too long."""
    with tempfile.TemporaryDirectory(prefix="room-") as made:
        yield Path(made)


@pytest.fixture
def provider(room: Path) -> Iterator[Started]:
    command = [sys.executable, "-P", "-m", "mlcluster.kubernetes_provider"]
    environment = {**os.environ, "TMPDIR": str(room)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        yield Started(process, int(process.stdout.readline()))
        process.terminate()


def answers(port: int) -> bool:
    """Return whether this user is served at the port."""
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        info = provider_pb2_grpc.ResourceProviderStub(channel).GetPluginInfo(empty_pb2.Empty(), timeout=30)
    return bool(info.version)


def asked_by_stranger(*ports: int) -> dict[str, str]:
    """Call and port to the status that another user got."""
    done = run_as_stranger(ASK, ",".join(map(str, ports)))
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, str] = json.loads(done.stdout)
    return found


def listening(process: psutil.Process) -> set[int]:
    return {found.laddr.port for found in process.net_connections("inet") if found.status == psutil.CONN_LISTEN}


# --- the provider alone


def test_the_user_who_started_it_is_served(provider: Started) -> None:
    assert answers(provider.port)


def test_one_port_listens_and_it_is_the_printed_one(provider: Started) -> None:
    sockets = psutil.Process(provider.process.pid).net_connections("inet")
    assert {found.laddr[:2] for found in sockets if found.status == psutil.CONN_LISTEN} == {
        ("127.0.0.1", provider.port)
    }


def test_the_server_itself_is_in_a_private_directory_that_ends_with_it(provider: Started, room: Path) -> None:
    (directory,) = room.iterdir()
    assert directory.stat().st_mode & 0o777 == 0o700
    provider.process.send_signal(signal.SIGINT)
    assert provider.process.wait(30) == 0
    assert list(room.iterdir()) == []


@as_root
def test_another_user_is_refused_by_each_method(provider: Started) -> None:
    assert set(asked_by_stranger(provider.port).values()) == CLOSED
    assert answers(provider.port)


@as_root
def test_a_request_that_is_sent_and_not_waited_for_is_not_served(provider: Started) -> None:
    """A closed connection is listed as one of root: a write needs no answer, and this provider runs as root."""
    code = """
import socket, struct, sys
for _ in range(200):
    found = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    found.sendall(b"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n" + b"\\0\\0\\0\\4\\0\\0\\0\\0\\0")
    if _ % 2:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    found.close()
"""
    served = psutil.Process(provider.process.pid)
    before = {found.fd for found in served.net_connections("unix")}
    done = run_as_stranger(code, str(provider.port))
    assert done.returncode == 0, done.stderr
    assert {found.fd for found in served.net_connections("unix")} == before
    assert answers(provider.port)


@as_root
def test_open_connections_of_another_user_do_not_block_the_engine(provider: Started) -> None:
    code = """
import socket, sys
held = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(300)]
ended = 0
for found in held:
    found.settimeout(20)
    try:
        ended += not found.recv(1)
    except ConnectionResetError:
        ended += 1
print(ended)
"""
    attack: list[str] = []
    attacker = threading.Thread(target=lambda: attack.append(run_as_stranger(code, str(provider.port)).stdout.strip()))
    attacker.start()
    assert all(answers(provider.port) for _ in range(5))
    attacker.join()
    assert attack == ["300"]


@as_root
def test_another_user_cannot_reach_the_socket_behind_the_port(provider: Started, room: Path) -> None:
    (directory,) = room.iterdir()
    room.chmod(0o711)
    code = """
import os, socket, sys
try:
    socket.socket(socket.AF_UNIX).connect(sys.argv[1])
except OSError as error:
    print(type(error).__name__)
"""
    plain = run_as_stranger(code, str(directory / "server"))
    assert plain.stdout.strip() == "PermissionError", plain.stderr


# --- everything that listens during `up`


def attacked_up(stack: ProviderStack, name: str, attack: Callable[[], Any]) -> Any:
    """Bring a small stack up, and run the attack while the engine waits for the rest of the program."""
    found: list[Any] = []

    def program(options: pulumi.ResourceOptions) -> None:
        labels = {"app.kubernetes.io/managed-by": "mlcluster", "mlcluster.dev/cluster": name}
        space = Namespace("space", metadata={"name": name, "labels": labels}, opts=options)

        def meanwhile(given: str) -> str:
            found.append(attack())
            return given

        place = {"name": "map", "namespace": space.metadata.name.apply(meanwhile), "labels": labels}
        ConfigMap("map", metadata=place, data={"a": "b"}, opts=options)

    stack.cluster = name
    with private_servers():
        run = stack.up(program)
    assert not run.error, run.error
    return found[-1]


@pytest.fixture
def stack(provider_lab: Lab, toolchain: Toolchain, tmp_path: Path) -> ProviderStack:
    """Return a stack whose engine is started as mlcluster starts it."""
    pulumi_program = toolchain.path("pulumi")
    command = EngineCommand(pulumi_program, lambda: None)
    return ProviderStack(tmp_path / "stack", provider_lab.kubeconfig, pulumi_program, command=command)


def open_ports() -> dict[str, set[int]]:
    """Return the ports that listen while the engine runs, by program."""
    here = psutil.Process()
    children = here.children(recursive=True)
    engine = next(found for found in children if found.name() == "pulumi")
    plugin = next(found for found in engine.children() if "mlcluster.kubernetes_provider" in " ".join(found.cmdline()))
    return {"program": listening(here), "engine": listening(engine), "provider": listening(plugin)}


@as_root
def test_during_up_another_user_reaches_the_engine_alone(stack: ProviderStack, kube: Kube, name: str) -> None:
    """The ports of the engine itself stay open: no setting of the engine protects them with credentials."""

    def attack() -> tuple[dict[str, set[int]], dict[str, str]]:
        ports = open_ports()
        return ports, asked_by_stranger(*(port for found in ports.values() for port in found))

    ports, answered = attacked_up(stack, name, attack)
    served = {int(call.split()[0]) for call, status in answered.items() if status not in CLOSED}
    assert served <= ports["engine"]
    assert any(call.endswith("monitor") and status == "ANSWERED" for call, status in answered.items())
    assert kube.get_object("v1", "Secret", "stolen", "kube-system") is None


def test_each_listener_is_on_loopback_and_the_program_has_none(stack: ProviderStack, name: str) -> None:
    """During `up` the provider listens on one port, and the program of mlcluster on none."""

    def look() -> tuple[dict[str, set[int]], set[str]]:
        here = psutil.Process()
        sockets = [c for one in (here, *here.children(recursive=True)) for c in one.net_connections("inet")]
        return open_ports(), {found.laddr.ip for found in sockets if found.status == psutil.CONN_LISTEN}

    ports, addresses = attacked_up(stack, name, look)
    assert (len(ports["provider"]), ports["program"]) == (1, set())
    assert {address.removeprefix("::ffff:") for address in addresses} == {"127.0.0.1"}
