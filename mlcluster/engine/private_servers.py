"""Unix sockets that only this user can reach, for the servers that the SDK opens for the engine.

For each operation, the SDK serves the program and receives events on loopback ports without credentials: another user
of the machine could run the program and read the resources that it registers, including secrets. The engine connects to
the addresses in its arguments. Within `private_servers`, these servers listen in a private directory, and
`private_addresses` writes their sockets into the engine's arguments.
"""

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from pathlib import Path
from typing import Any

import grpc
from pulumi.automation import _stack as sdk

from mlcluster.directories import make_socket_directory

_directory: ContextVar[Path | None] = ContextVar("directory of private servers", default=None)
_sockets: dict[int, Path] = {}
_numbers = count(1)
_ADDRESS = re.compile(r"127\.0\.0\.1:(\d+)")


@contextmanager
def private_servers() -> Iterator[None]:
    """Make the servers that the SDK opens in this thread listen on Unix sockets within the context."""
    directory = make_socket_directory()
    if not isinstance(sdk.grpc, _Grpc):
        sdk.grpc = _Grpc()
    token = _directory.set(directory)
    try:
        yield
    finally:
        _directory.reset(token)
        for number in [number for number, path in _sockets.items() if path.parent == directory]:
            del _sockets[number]
        shutil.rmtree(directory, ignore_errors=True)


def private_addresses(arguments: Sequence[str]) -> list[str]:
    """Return the engine's arguments with the sockets of private servers in place of the ports that the SDK wrote."""

    def address(found: re.Match[str]) -> str:
        path = _sockets.get(int(found[1]))
        return found[0] if path is None else f"unix:{path}"

    return [_ADDRESS.sub(address, argument) for argument in arguments]


class _Grpc:
    """The replacement of the module `grpc` in the SDK's stack."""

    def __getattr__(self, name: str) -> Any:
        return getattr(grpc, name)

    @staticmethod
    def server(*arguments: Any, **options: Any) -> Any:
        made, directory = grpc.server(*arguments, **options), _directory.get()
        return made if directory is None else _PrivateServer(made, directory)


class _PrivateServer:
    """A server whose port is the number of a Unix socket, below the numbers of unprivileged ports."""

    def __init__(self, server: Any, directory: Path) -> None:
        self._server = server
        self._directory = directory

    def __getattr__(self, name: str) -> Any:
        return getattr(self._server, name)

    def add_insecure_port(self, address: str) -> int:
        del address
        number = next(_numbers)
        path = self._directory / str(number)
        self._server.add_insecure_port(f"unix:{path}")
        _sockets[number] = path
        return number
