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
"""Server-side apply; JSON is YAML, so JSON is what we send."""
_TRIES = 4
_CONNECT_SECONDS = 5.0
_READ_SECONDS = 65.0  # an API server gives a request 60 s
_GATEWAY = frozenset({502, 503, 504})
"""From a server that stops or is under load, or a load balancer in front of one: the work may have been done."""
_REPEAT_SECONDS = 90.0
"""No request is repeated after this: its caller may have a deadline of its own. A 504 can take 60 s to come."""


class Transport:
    """Sends requests from any thread.

    Args:
        access: where and as whom.
        connections: at most this many at once.
        transport: stands in for the network in tests.
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
        """One request, retried when that is safe; the JSON answer.

        Raises:
            ApiError: the answer is an error.
            Unreachable: there is no answer.
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
        """Whom the kubeconfig acts as, unless this one request says whom."""
        return () if any(name == USER for name, _ in headers) else self._access.impersonation

    def _authorization(self) -> list[tuple[str, str]]:
        token = self._access.token()
        return [("Authorization", f"Bearer {token}")] if token else []


def _repeatable(method: str, path: str, content_type: str, status: int) -> bool:
    """Whether the same request may have another answer a moment later, and does no harm if the first one worked."""
    if status == 429:  # it comes before any work is done, except for an eviction, where it is the answer
        return not path.endswith("/eviction")
    return status in _GATEWAY and _idempotent(method, content_type)


def _idempotent(method: str, content_type: str) -> bool:
    """Whether the request comes to the same when it is done twice; `Kube.delete` takes 404 for success."""
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
    """Whether one side does not trust the other: that stays so. Other alerts of TLS come of a connection gone wrong."""
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
