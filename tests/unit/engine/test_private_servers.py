"""Servers that the SDK opens for the engine: on Unix sockets in a private directory, and only inside the context."""

import stat
import tempfile
from concurrent import futures
from pathlib import Path

import pytest
from pulumi.automation import _stack as sdk

from mlcluster.engine.private_servers import private_addresses, private_servers

pytestmark = pytest.mark.unit


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set an empty temporary directory."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def opened() -> list[str]:
    """Return the addresses that the SDK would write into the engine's arguments."""
    server = sdk.grpc.server(futures.ThreadPoolExecutor(max_workers=1))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    server.stop(0).wait()
    return [f"--client=127.0.0.1:{port}", "--event-log", f"tcp://127.0.0.1:{port}"]


def test_the_engine_connects_to_a_private_socket(temporary: Path) -> None:
    with private_servers():
        client, flag, log = private_addresses(opened())
        path = Path(client.removeprefix("--client=unix:"))
        assert (flag, log) == ("--event-log", f"tcp://unix:{path}")
        assert path.parent.parent in {temporary, Path("/tmp")}  # noqa: S108 - the substitute for a long path
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert not path.parent.exists()


def test_two_servers_have_two_sockets(temporary: Path) -> None:
    with private_servers():
        assert private_addresses(opened()) != private_addresses(opened())
    assert not list(temporary.iterdir())


def test_outside_the_context_and_for_other_addresses_nothing_changes() -> None:
    with private_servers():
        within = opened()
        assert private_addresses(["127.0.0.1:65000", "--parallel", "4"]) == ["127.0.0.1:65000", "--parallel", "4"]
    assert private_addresses(within) == within
    ordinary = opened()
    assert private_addresses(ordinary) == ordinary
    assert int(ordinary[0].rpartition(":")[2]) > 1023


def test_an_error_inside_leaves_no_directory(temporary: Path) -> None:
    with pytest.raises(RuntimeError), private_servers():
        raise RuntimeError
    assert not list(temporary.iterdir())
