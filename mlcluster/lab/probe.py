"""Readiness probes of the lab's processes, each an HTTPS request with a client certificate."""

import http.client
import json
import ssl
from typing import Any

from mlcluster.lab.layout import Layout
from mlcluster.lab.pki import ETCD_AUTHORITY, ETCD_CLIENT
from mlcluster.lab.ports import LOOPBACK

Answer = tuple[int, bytes]

_SECONDS = 5.0  # 0.02 s on an idle machine


def https(  # noqa: PLR0913 - the parts of a request
    layout: Layout,
    port: int,
    path: str,
    *,
    user: str = "admin",
    authority: str = "ca",
    body: dict[str, Any] | None = None,
    seconds: float = _SECONDS,
) -> Answer:
    """Send a GET (with a body, a POST) with the certificate of `user`, and return status and content.

    The certificate of the server must be signed by `authority`.

    Raises:
        OSError, http.client.HTTPException: there is no response, or it is not HTTP.
    """
    context = ssl.create_default_context(cafile=str(layout.certificate(authority)))
    context.load_cert_chain(layout.certificate(user), layout.key(user))
    connection = http.client.HTTPSConnection(LOOPBACK, port, context=context, timeout=seconds)
    return _ask(connection, path, body)


def etcd(
    layout: Layout, port: int, path: str, *, body: dict[str, Any] | None = None, seconds: float = _SECONDS
) -> Answer:
    """Send a request to etcd's client port with the certificate of the API server; for the errors see `https`."""
    return https(layout, port, path, user=ETCD_CLIENT, authority=ETCD_AUTHORITY, body=body, seconds=seconds)


def http_plain(port: int, path: str, *, seconds: float = _SECONDS) -> Answer:
    """Send a GET without TLS, which Kueue's health endpoint does not support."""
    return _ask(http.client.HTTPConnection(LOOPBACK, port, timeout=seconds), path, None)


def _ask(connection: http.client.HTTPConnection, path: str, body: dict[str, Any] | None) -> Answer:
    try:
        connection.request("GET" if body is None else "POST", path, None if body is None else json.dumps(body))
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()
