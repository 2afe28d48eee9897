"""Impersonation of a kubeconfig's user: its fields `as`, `as-uid`, `as-groups` and `as-user-extra`.

Without them we would act with all the rights of whoever has the credentials, where kubectl has only those asked for.
Format: kubernetes.io/docs/reference/config-api/kubeconfig.v1; headers: kubernetes.io/docs/reference/access-authn-authz/
user-impersonation.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from mlcluster.errors import MlclusterError

USER = "Impersonate-User"
_DOING = "reading the kubeconfig"
_TOKEN = "!#$&'*+-.^_`|~"  # noqa: S105 - besides letters and digits, what a header's name may have; % escapes the rest

Headers = tuple[tuple[str, str], ...]


def impersonation(user: Mapping[str, Any]) -> Headers:
    """The headers that every request of a kubeconfig's user carries; () when it acts as itself.

    Raises:
        MlclusterError: something else than text where text belongs, or a group, uid or extra without `as`.
    """
    found = tuple(_headers(user))
    if found and found[0][0] != USER:
        raise MlclusterError(_DOING, "its user has as-uid, as-groups or as-user-extra without `as`", "add `as`")
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
    """One header's value: a line break in it would begin another header."""
    if not isinstance(value, str) or not value.isprintable():
        raise _wrong(field)
    return value


def _wrong(field: str) -> MlclusterError:
    return MlclusterError(_DOING, f"`{field}` of its user is not what the format of kubeconfigs says")
