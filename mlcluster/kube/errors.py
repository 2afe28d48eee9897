"""Errors of an API server, without credentials."""

from typing import Any, Literal

from mlcluster.errors import MlclusterError

Trouble = Literal["refused", "timeout", "tls", "other"]

_HINTS: dict[Trouble, str] = {
    "refused": "Check that the cluster is running and that the context is correct: no server listens at this address.",
    "timeout": "Check VPN, firewall and the endpoint's allowed networks.",
    "tls": "Check the certificate authority in the kubeconfig and the server name.",
    "other": "",
}


class ApiError(MlclusterError):
    """The API server returned an error.

    Attributes:
        status: the HTTP code.
        reason: the machine-readable reason of the Status object, such as `AlreadyExists`. mlcluster adds `NoKind`:
            the group and version do not serve the kind.
        message: the message of the server.
        causes: the field errors of an invalid object, `{"field", "message", "reason"}` each.
    """

    def __init__(self, doing: str, status: int, body: dict[str, Any], hint: str = "") -> None:
        self.status = status
        self.reason = str(body.get("reason") or "")
        self.message = str(body.get("message") or f"HTTP {status}")
        self.causes: list[dict[str, str]] = (body.get("details") or {}).get("causes") or []
        super().__init__(doing, self.message, hint)


class Unauthorized(ApiError):  # noqa: N818 - the HTTP term for an error
    """401: the server does not accept the credentials."""


class Forbidden(ApiError):  # noqa: N818 - the HTTP term for an error
    """403: the user lacks the permission."""


class Unreachable(MlclusterError):  # noqa: N818 - the adjective names the error
    """There was no HTTP response. `trouble` distinguishes a stopped server, a slow network and a wrong certificate."""

    def __init__(self, doing: str, server: str, trouble: Trouble, detail: str) -> None:
        self.trouble = trouble
        super().__init__(doing, f"no response from {server}: {detail}", _HINTS[trouble])


def api_error(doing: str, status: int, body: dict[str, Any]) -> ApiError:
    """Return the error for an HTTP status."""
    if status == 401:
        hint = "Renew the credentials of this kubeconfig context: they are wrong or have expired."
        return Unauthorized(doing, status, body, hint)
    if status == 403:
        return Forbidden(doing, status, body, "Ask a cluster administrator for this permission.")
    return ApiError(doing, status, body)
