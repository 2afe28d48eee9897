"""A loopback port for connections of this user, which it relays to a Unix socket.

The engine connects to 127.0.0.1 and the port that a plugin prints, without credentials, so the port is open to every
process of the machine. This module finds the user of each connection by its two addresses before it reads a byte, and
closes connections of other users. The server listens on a Unix socket in a directory that only its owner can access.
"""

import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

LOOPBACK = "127.0.0.1"
Address = tuple[str, int]
_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_ESTABLISHED = "01"
_CHUNK = 256 * 1024
_LOOKS, _PAUSE = 3, 0.02  # the kernel can skip a row of a table that changes during the read


class PrivatePort:
    """Accepts connections of this user and relays each to the server; connections of other users are closed.

    Args:
        server: path of the server's Unix socket.
        admits: returns whether to accept a connection from the first address to the second one.
    """

    def __init__(self, server: str, admits: Callable[[Address, Address], bool] | None = None) -> None:
        self._server = server
        self._admits = admits or is_of_this_user
        self._logged: set[str] = set()
        self._listener = socket.create_server((LOOPBACK, 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, name="private-port", daemon=True).start()

    def close(self) -> None:
        """Stop accepting connections; open connections end with the server."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                outside, _ = self._listener.accept()
            except OSError:
                if self._listener.fileno() < 0:
                    return
                time.sleep(_PAUSE)  # no file descriptor is left, or the peer has disconnected
                continue
            threading.Thread(target=self._check, args=(outside,), name="private-port-check", daemon=True).start()

    def _check(self, outside: socket.socket) -> None:
        try:
            outside.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if not self._is_admitted(outside):
                outside.close()
                return
            inside = socket.socket(socket.AF_UNIX)
            inside.connect(self._server)
        except OSError as error:
            logging.getLogger(__name__).debug("a connection ended at the port: %s", error)
            outside.close()
            return
        threading.Thread(target=_relay, args=(outside, inside), name="port-in", daemon=True).start()
        _relay(inside, outside)

    def _is_admitted(self, outside: socket.socket) -> bool:
        ends = outside.getpeername(), outside.getsockname()  # raises for a connection that has ended
        try:
            if self._admits(*ends):
                return True
        except OSError as error:
            self._log_once(f"refused a connection, because this system does not report which user made it: {error}")
            return False
        self._log_once("refused a connection that another user of this machine made, or that ended at once")
        return False

    def _log_once(self, text: str) -> None:
        """Log a message once, so that another user cannot fill the output of `up`."""
        if text not in self._logged:
            self._logged.add(text)
            logging.getLogger(__name__).error("the built-in provider %s", text)


def is_of_this_user(client: Address, server: Address) -> bool:
    """Return whether a process of this user opened the connection from `client` to `server`.

    Raises:
        OSError: this system does not report the user.
    """
    if not _TABLES[0].exists():
        return _is_of_engine(client, server)
    for look in range(_LOOKS):
        owner = owner_of(client, server, (line for table in _TABLES for line in _lines(table)))
        if owner is not None:
            return owner == os.geteuid()
        if look + 1 < _LOOKS:
            time.sleep(_PAUSE)
    return False


def owner_of(client: Address, server: Address, rows: Iterable[str]) -> int | None:
    """Return the user ID of the open connection from `client` to `server`; None if the kernel lists none.

    The kernel lists a closed connection with user 0 and without an inode; it must not count as a connection of root.

    Args:
        client: the end whose owner is returned.
        server: the other end.
        rows: lines of the kernel's tables of TCP connections.
    """
    ends = [(_spelled(client, wide=wide), _spelled(server, wide=wide)) for wide in (False, True)]
    for row in rows:
        columns = row.split()
        if len(columns) < 10 or (columns[1], columns[2]) not in ends:
            continue
        if columns[3] == _ESTABLISHED and columns[9] != "0":
            return int(columns[7])
    return None


def _lines(table: Path) -> list[str]:
    try:
        return table.read_text(encoding="ascii").splitlines()
    except FileNotFoundError:  # a kernel without IPv6
        return []


def _spelled(address: Address, *, wide: bool) -> str:
    """Return an address in the spelling of the kernel's table; `wide` for an IPv6 socket with a mapped IPv4 address."""
    host = f"{int.from_bytes(socket.inet_aton(address[0]), sys.byteorder):08X}"
    mapped = f"{'0' * 16}{int.from_bytes(bytes((0, 0, 0xFF, 0xFF)), sys.byteorder):08X}" if wide else ""
    return f"{mapped}{host}:{address[1]:04X}"


def _is_of_engine(client: Address, server: Address) -> bool:
    """Return whether the engine, the parent process, has the connection, for systems without tables in /proc."""
    import psutil  # not needed on Linux

    try:
        held = psutil.Process(os.getppid()).net_connections("tcp")
    except psutil.Error as error:
        raise OSError(str(error)) from error
    return any(
        found.status == psutil.CONN_ESTABLISHED and tuple(found.laddr) == client and tuple(found.raddr) == server
        for found in held
    )


def _relay(source: socket.socket, target: socket.socket) -> None:
    """Forward bytes until one end closes, then close both connections."""
    with suppress(OSError):
        while data := source.recv(_CHUNK):
            target.sendall(data)
    for end in (target, source):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
    target.close()
