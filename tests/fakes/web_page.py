"""A proxy that answers every request with its own page: a real HTTP server on the loopback interface."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

TORN = "<!DOCTYPE html><html><head><meta charset=utf-8><title>Blocked</title><body><p>Ask IT<br>"
"""A page as most are: no XML."""

WELL_FORMED = "<html><body><p>Blocked: ask IT</p></body></html>"
"""A page that an XML parser takes."""


@dataclass
class Proxy:
    """The server.

    Attributes:
        url: where it listens.
        status, body, content_type: the answer to every request; no header for an empty content type.
        seen: the line of each request.
    """

    url: str = ""
    status: int = 200
    body: str = ""
    content_type: str = "text/html"
    seen: list[str] = field(default_factory=list)

    def answers(self, status: int, body: str, content_type: str = "text/html") -> None:
        """Set the answer and forget the requests so far."""
        self.status, self.body, self.content_type = status, body, content_type
        self.seen.clear()


@contextmanager
def serve_proxy() -> Iterator[Proxy]:
    """Serve until the context ends."""
    proxy = Proxy()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            proxy.seen.append(self.requestline)
            data = proxy.body.encode()
            self.send_response(proxy.status)
            if proxy.content_type:
                self.send_header("Content-Type", proxy.content_type)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = _answer  # noqa: N815 -- the names that http.server calls

        def log_message(self, *_arguments: object) -> None:
            """Keep the test's output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    proxy.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
