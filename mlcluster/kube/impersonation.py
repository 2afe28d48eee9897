"""Impersonation of a kubeconfig's user: its fields `as`, `as-uid`, `as-groups` and `as-user-extra`.

Without them, requests would have all permissions of the credentials, where kubectl has only those of the named user.
Format: kubernetes.io/docs/reference/config-api/kubeconfig.v1; headers: kubernetes.io/docs/reference/access-authn-authz/
user-impersonation.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from mlcluster.errors import MlclusterError

USER = "Impersonate-User"
_DOING = "reading the kubeconfig"
_TOKEN = "!#$&'*+-.^_`|~"  # noqa: S105 - valid in header names in addition to letters and digits; % escapes the rest

Headers = tuple[tuple[str, str], ...]


def impersonation(user: Mapping[str, Any]) -> Headers:
    """Return the impersonation headers for the requests of a kubeconfig's user; () without impersonation.

    Raises:
        MlclusterError: a value is not text, or there is a group, uid or extra without `as`.
    """
    found = tuple(_headers(user))
    if found and found[0][0] != USER:
        raise MlclusterError(_DOING, "its user has as-uid, as-groups or as-user-extra without `as`", "Add `as`.")
    return found


def _headers(user: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for field, header in (("as", USER), ("as-uid", "Impersonate-Uid")):
        if user.get(field):
            yield header, _text(user[field], field)
    for group in _texts(user.get("as-groups") or [], "as-groups"):
        yield "Impersonate-Group", group
    extra = user.get("as-user-extra") or {}
    if not isinstance(extra, dict):
        raise _wrong("as-user-extra")
    for key, values in extra.items():
        for value in _texts(values, "as-user-extra"):
            yield f"Impersonate-Extra-{quote(_text(key, 'as-user-extra'), safe=_TOKEN)}", value


def _texts(values: Any, field: str) -> list[str]:
    if not isinstance(values, list):
        raise _wrong(field)
    return [_text(value, field) for value in values]


def _text(value: Any, field: str) -> str:
    """Return the value of a header; a line break is an error, because it would start another header."""
    if not isinstance(value, str) or not value.isprintable():
        raise _wrong(field)
    return value


def _wrong(field: str) -> MlclusterError:
    return MlclusterError(_DOING, f"`{field}` of its user is not valid in a kubeconfig")
