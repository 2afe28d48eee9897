"""`python -m mlcluster.kubernetes_provider`: print the port, and serve until the engine ends."""

import gc
import logging
import os
import shutil
import signal
import sys
import threading

from mlcluster.directories import make_socket_directory
from mlcluster.kubernetes_provider.lean import import_lean

_PARENT_SECONDS = 1.0  # interval between checks that the engine still runs
_CLOSE_SECONDS = 0.2


def main() -> None:
    """Serve one provider instance."""
    gc.disable()  # imports create no garbage; this saves a tenth of the start time
    import_lean()
    from mlcluster.kubernetes_provider.faults import Faults
    from mlcluster.kubernetes_provider.private_port import PrivatePort
    from mlcluster.kubernetes_provider.server import serve
    from mlcluster.kubernetes_provider.servicer import Provider

    logging.basicConfig(stream=sys.stderr, level=logging.ERROR)
    ended = threading.Event()
    # The engine starts the provider in its own process group, so an interrupt comes from the engine and means "close".
    # Ignoring it costs five seconds per operation.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    parent = os.getppid()
    provider = Provider()
    private = make_socket_directory()
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


if __name__ == "__main__":
    main()
