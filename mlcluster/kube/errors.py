"""Errors of an API server, as sentences without a token."""

from typing import Any, Literal

from mlcluster.errors import MlclusterError

Trouble = Literal["refused", "timeout", "tls", "other"]

_HINTS: dict[Trouble, str] = {
    "refused": "nothing listens there: is the cluster running, and is it the right context?",
    "timeout": "the address does not answer: check VPN, firewall and the endpoint's allowed networks",
    "tls": "the certificate does not fit: check the kubeconfig's certificate authority and the server name",
    "other": "",
}


class ApiError(MlclusterError):
    """The API server answered with an error.

    Attributes:
        status: the HTTP code.
        reason: the machine-readable reason of the Status object, such as `AlreadyExists`; `NoKind` is ours and
            means that the group and version do not serve the kind.
        message: the server's own sentence.
        causes: the field errors of an invalid object, `{"field", "message", "reason"}` each.
    """

    def __init__(self, doing: str, status: int, body: dict[str, Any], hint: str = "") -> None:
        self.status = status
        self.reason = str(body.get("reason") or "")
        self.message = str(body.get("message") or f"HTTP {status}")
        self.causes: list[dict[str, str]] = (body.get("details") or {}).get("causes") or []
        super().__init__(doing, self.message, hint)


class Unauthorized(ApiError):  # noqa: N818 - the HTTP word says it is an error
    """401: the server does not know who we are."""


class Forbidden(ApiError):  # noqa: N818 - the HTTP word says it is an error
    """403: the server knows us and says no."""


class Unreachable(MlclusterError):  # noqa: N818 - reads as what it is
    """No HTTP answer at all. `trouble` tells a dead server from a slow network and a wrong certificate."""

    def __init__(self, doing: str, server: str, trouble: Trouble, detail: str) -> None:
        self.trouble = trouble
        super().__init__(doing, f"no answer from {server}: {detail}", _HINTS[trouble])


def api_error(doing: str, status: int, body: dict[str, Any]) -> ApiError:
    """The fitting class for an HTTP code."""
    if status == 401:
        return Unauthorized(doing, status, body, "the credentials of this kubeconfig context are wrong or have expired")
    if status == 403:
        return Forbidden(doing, status, body, "ask a cluster administrator for this right")
    return ApiError(doing, status, body)
