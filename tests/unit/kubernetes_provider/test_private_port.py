"""Connections to the provider: their users, and the refusal of other users."""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from mlcluster.kubernetes_provider import private_port
from mlcluster.kubernetes_provider.private_port import Address, PrivatePort, is_of_this_user, owner_of

pytestmark = pytest.mark.unit

CLIENT, SERVER = ("127.0.0.1", 54321), ("127.0.0.1", 45678)
# As Linux writes them on a little-endian machine; the last columns are left out.
HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode"
NARROW = "   9: 0100007F:D431 0100007F:B26E {state} 00000000:00000000 00:00000000 00000000 {uid:5}        0 {inode} 1 0"
WIDE = (
    "   9: 0000000000000000FFFF00000100007F:D431 0000000000000000FFFF00000100007F:B26E {state}"
    " 00000000:00000000 00:00000000 00000000 {uid:5}        0 {inode} 1 0"
)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """Start the server behind the port, with a short path, because the path of a Unix socket has a limit."""
    monkeypatch.chdir(tmp_path)
    with closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind("server")
        listener.listen()
        yield listener


@pytest.fixture
def open_port(server: socket.socket) -> Iterator[Callable[..., PrivatePort]]:
    made: list[PrivatePort] = []

    def make(admits: Callable[[Address, Address], bool] | None = None) -> PrivatePort:
        made.append(PrivatePort("server", admits))
        return made[-1]

    yield make
    for one in made:
        one.close()


def row(form: str, state: str = "01", uid: int = 1000, inode: int = 77) -> str:
    return form.format(state=state, uid=uid, inode=inode)


@pytest.mark.parametrize("form", [NARROW, WIDE])
def test_the_owner_of_a_connection_is_read_from_the_row_of_its_client(form: str) -> None:
    assert owner_of(CLIENT, SERVER, [HEAD, row(form)]) == 1000
    assert owner_of(SERVER, CLIENT, [HEAD, row(form)]) is None


@pytest.mark.parametrize("form", [NARROW, WIDE])
@pytest.mark.parametrize(("state", "inode"), [("04", 0), ("05", 0), ("06", 0), ("01", 0), ("08", 77), ("0A", 77)])
def test_a_connection_that_its_owner_closed_is_not_one_of_root(form: str, state: str, inode: int) -> None:
    assert owner_of(CLIENT, SERVER, [HEAD, row(form, state, 0, inode)]) is None


@pytest.mark.parametrize("text", ["", "x", HEAD, "   9: 0100007F:D431 0100007F:B26E 01", "\0"])
def test_an_invalid_row_admits_no_connection(text: str) -> None:
    assert owner_of(CLIENT, SERVER, [text]) is None


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_a_connection_of_this_user_is_found_in_the_kernel_tables(family: socket.AddressFamily) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener, closing(socket.socket(family)) as client:
        host = "::ffff:127.0.0.1" if family is socket.AF_INET6 else "127.0.0.1"
        client.connect((host, listener.getsockname()[1]))
        accepted, peer = listener.accept()
        with closing(accepted):
            assert is_of_this_user(peer, accepted.getsockname())
            assert not is_of_this_user((peer[0], peer[1] ^ 1), accepted.getsockname())


def test_without_kernel_tables_the_parent_process_must_have_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS. The parent of this process has no such connection, so even this user is refused."""
    monkeypatch.setattr(private_port, "_TABLES", (Path("/not/there"),))
    listening = closing(socket.create_server(("127.0.0.1", 0)))
    with listening as listener, closing(socket.create_connection(listener.getsockname())):
        accepted, peer = listener.accept()
        with closing(accepted):
            assert not is_of_this_user(peer, accepted.getsockname())
            monkeypatch.setattr(os, "getppid", os.getpid)
            assert is_of_this_user(peer, accepted.getsockname())


def test_bytes_are_relayed_in_both_directions(open_port: Callable[..., PrivatePort], server: socket.socket) -> None:
    sent, answer = os.urandom(3_000_000), os.urandom(2_000_000)
    got = bytearray()

    def serve() -> None:
        inside, _ = server.accept()
        with closing(inside):
            while len(got) < len(sent):
                got.extend(inside.recv(1 << 16))
            inside.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    with closing(socket.create_connection(("127.0.0.1", open_port().port))) as client:
        client.sendall(sent)
        back = bytearray()
        while data := client.recv(1 << 16):
            back.extend(data)
    thread.join()
    assert (bytes(got), bytes(back)) == (sent, answer)


@pytest.mark.parametrize("trouble", [False, True])
def test_refused_connections_do_not_reach_the_server_and_are_logged_once(
    open_port: Callable[..., PrivatePort], server: socket.socket, caplog: pytest.LogCaptureFixture, *, trouble: bool
) -> None:
    def admits(client: Address, own: Address) -> bool:
        del client, own
        if trouble:
            message = "this system does not report"
            raise OSError(message)
        return False

    port = open_port(admits).port
    for _ in range(5):
        with closing(socket.create_connection(("127.0.0.1", port))) as client, suppress(ConnectionError):
            client.sendall(b"forged")
            assert client.recv(1) == b""
    server.settimeout(0)
    with pytest.raises(BlockingIOError):
        server.accept()
    words = "this system does not report" if trouble else "another user of this machine"
    assert [words in entry.message for entry in caplog.records] == [True]


def test_a_closed_port_accepts_nothing(open_port: Callable[..., PrivatePort]) -> None:
    closed = open_port()
    closed.close()
    with pytest.raises(ConnectionError):
        socket.create_connection(("127.0.0.1", closed.port))
