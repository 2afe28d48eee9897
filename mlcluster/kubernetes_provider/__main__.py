"""`python -m mlcluster.kubernetes_provider`: prints its port, serves until the engine ends."""

import gc
import logging
import os
import shutil
import signal
import sys
import tempfile
import threading
from pathlib import Path

from mlcluster.kubernetes_provider.lean import import_lean

_PARENT_SECONDS = 1.0  # how often we look whether the engine is still there
_CLOSE_SECONDS = 0.2
_LONGEST = 90  # characters: the path of a Unix socket may have about 100


def main() -> None:
    """Serve one provider instance."""
    gc.disable()  # imports make nothing that is garbage: a tenth of the time to start
    import_lean()
    from mlcluster.kubernetes_provider.faults import Faults
    from mlcluster.kubernetes_provider.private_port import PrivatePort
    from mlcluster.kubernetes_provider.server import serve
    from mlcluster.kubernetes_provider.servicer import Provider

    logging.basicConfig(stream=sys.stderr, level=logging.ERROR)
    ended = threading.Event()
    # The engine gives us a process group of our own, so an interrupt comes from it and means "close"; ignoring it
    # costs five seconds an operation.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    parent = os.getppid()
    provider = Provider()
    private = _private_directory()
    server, _ = serve(provider, Faults.from_environment(), f"unix:{private}/server")
    listener = PrivatePort(f"{private}/server")
    gc.freeze()
    gc.enable()
    sys.stdout.write(f"{listener.port}\n")
    sys.stdout.flush()
    while not ended.wait(_PARENT_SECONDS) and os.getppid() == parent:
        pass
    listener.close()
    server.stop(_CLOSE_SECONDS).wait()
    provider.close()
    shutil.rmtree(private, ignore_errors=True)


def _private_directory() -> str:
    """Return a fresh directory for the server's socket; only its owner can enter it."""
    made = tempfile.mkdtemp(prefix="mlcluster-")
    if len(made) <= _LONGEST:
        return made
    Path(made).rmdir()
    return tempfile.mkdtemp(prefix="mlcluster-", dir="/tmp")


if __name__ == "__main__":
    main()
