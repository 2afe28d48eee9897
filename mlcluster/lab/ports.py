"""Free ports on loopback for programs that cannot choose one themselves."""

import random
import socket
from dataclasses import dataclass
from typing import Self

LOOPBACK = "127.0.0.1"
# Below the range of outgoing connections on Linux (32768 and up): the control plane opens many connections to itself,
# and one of them could use the port of a component that is about to restart.
_LOWEST, _HIGHEST = 20000, 32000
_TRIES = 2000


@dataclass(frozen=True)
class Ports:
    """The ports of a bare control plane."""

    etcd: int
    etcd_peer: int
    api: int
    controllers: int
    scheduler: int

    @classmethod
    def free(cls) -> Self:
        return cls(*free_ports(5))


def free_ports(count: int) -> list[int]:
    """Return `count` different free ports; another process can take one before the caller uses it."""
    found: list[int] = []
    for _ in range(_TRIES):
        port = random.randint(_LOWEST, _HIGHEST)  # noqa: S311 - no secret
        if port not in found and _is_free(port):
            found.append(port)
        if len(found) == count:
            return found
    message = f"no {count} free ports between {_LOWEST} and {_HIGHEST}"
    raise OSError(message)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True
