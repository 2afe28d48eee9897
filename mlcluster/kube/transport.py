"""HTTP to an API server: connection pool, credentials, retries, and errors."""

import ipaddress
import json
import random
import ssl
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx

from mlcluster.kube.errors import Trouble, Unreachable, api_error
from mlcluster.kube.impersonation import USER, Headers
from mlcluster.kube.kubeconfig import Access

APPLY = "application/apply-patch+yaml"
"""Content type of server-side apply, sent with JSON, which is valid YAML."""
_TRIES = 4
_CONNECT_SECONDS = 5.0
_READ_SECONDS = 65.0  # an API server gives a request 60 s
_GATEWAY = frozenset({502, 503, 504})
"""Status codes of a stopping or overloaded server, or of its load balancer; the server may have done the work."""
_REPEAT_SECONDS = 90.0
"""No request is repeated after this time, because its caller can have a deadline. A 504 can take 60 s to arrive."""


class Transport:
    """Sends requests from any thread.

    Args:
        access: address and credentials of the server.
        connections: the maximum number of simultaneous connections.
        transport: replaces the network in tests.
    """

    def __init__(self, access: Access, *, connections: int, transport: httpx.BaseTransport | None = None) -> None:
        self._access = access
        self._client = httpx.Client(
            base_url=access.server,
            verify=access.tls or False,  # False: plain http, no context needed
            limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
            timeout=httpx.Timeout(_READ_SECONDS, connect=_CONNECT_SECONDS, pool=None),
            headers={"Accept": "application/json", "User-Agent": "mlcluster"},
            proxy=access.proxy,
            # Go's clients never send loopback through a proxy; httpx would.
            trust_env=access.proxy is None and not _loopback(access.server),
            transport=transport,
        )
        self._extensions = {"sni_hostname": access.server_name} if access.server_name else None

    def close(self) -> None:
        self._client.close()

    def send(  # noqa: PLR0913 - the parts of an HTTP request
        self,
        method: str,
        path: str,
        body: Any,
        *,
        content_type: str,
        params: Mapping[str, str],
        headers: Headers,
    ) -> dict[str, Any]:
        """Send one request, with retries if they are safe, and return the JSON response.

        Raises:
            ApiError: the response is an error.
            Unreachable: there is no response.
        """
        content = None if body is None else json.dumps(body).encode()
        typed = [*headers, *self._whom(headers), *([("Content-Type", content_type)] if content is not None else [])]
        doing = f"{method} {path}"
        began = time.monotonic()
        for attempt in range(_TRIES):
            last = attempt == _TRIES - 1
            try:
                response = self._client.request(
                    method,
                    path,
                    content=content,
                    params=dict(params),
                    headers=httpx.Headers([*typed, *self._authorization()], encoding="utf-8"),  # names of users
                    extensions=self._extensions,
                )
            except httpx.TransportError as error:
                trouble = _trouble(error)
                late = time.monotonic() - began > _REPEAT_SECONDS
                if last or late or not _idempotent(method, content_type) or _about_certificates(error):
                    raise Unreachable(doing, self._access.server, trouble, _detail(error, trouble)) from None
                time.sleep(_pause(attempt))
                continue
            late = time.monotonic() - began > _REPEAT_SECONDS
            if not last and not late and _repeatable(method, path, content_type, response.status_code):
                time.sleep(_pause(attempt, response.headers.get("Retry-After", "")))
                continue
            return _answer(doing, response)
        raise AssertionError(doing)  # pragma: no cover - the last attempt returns or raises

    def _whom(self, headers: Headers) -> Headers:
        """Return the impersonation headers of the kubeconfig, unless the request has its own."""
        return () if any(name == USER for name, _ in headers) else self._access.impersonation

    def _authorization(self) -> list[tuple[str, str]]:
        token = self._access.token()
        return [("Authorization", f"Bearer {token}")] if token else []


def _repeatable(method: str, path: str, content_type: str, status: int) -> bool:
    """Return whether repeating a request can succeed, and is harmless if the first request succeeded."""
    if status == 429:  # sent before any work is done, except for an eviction, whose result it is
        return not path.endswith("/eviction")
    return status in _GATEWAY and _idempotent(method, content_type)


def _idempotent(method: str, content_type: str) -> bool:
    """Return whether repeating the request has no further effect; `Kube.delete` treats 404 as success."""
    return method in {"GET", "DELETE"} or content_type == APPLY


def _pause(attempt: int, retry_after: str = "") -> float:
    asked = float(retry_after) if retry_after.isascii() and retry_after.isdigit() else 0.0
    wait: float = max(asked, 0.1 * 3**attempt)
    return min(wait, 10.0) * random.uniform(0.8, 1.2)  # noqa: S311 - spreads retries only


def _answer(doing: str, response: httpx.Response) -> dict[str, Any]:
    try:
        body = response.json() if response.content else {}
    except ValueError:
        body = {"message": response.text[:400].strip()}
    if not isinstance(body, dict):
        body = {"message": str(body)[:400]}
    if response.is_success:
        return body
    raise api_error(doing, response.status_code, body)


def _trouble(error: BaseException) -> Trouble:
    if isinstance(error, httpx.TimeoutException):
        return "timeout"
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, ssl.SSLError):
            return "tls"
        if isinstance(inner, ConnectionRefusedError):
            return "refused"
        inner = inner.__cause__ or inner.__context__
    return "other"


def _about_certificates(error: BaseException) -> bool:
    """Return whether one side does not trust the other, which is permanent, unlike other TLS alerts."""
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, ssl.SSLError):
            return "CERTIFICATE" in str(inner).upper() or "UNKNOWN_CA" in str(inner).upper()
        inner = inner.__cause__ or inner.__context__
    return False


def _detail(error: Exception, trouble: Trouble) -> str:
    return {"timeout": "timed out", "refused": "connection refused"}.get(trouble) or str(error) or type(error).__name__


def _loopback(server: str) -> bool:
    host = urlsplit(server).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
