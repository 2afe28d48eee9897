"""API discovery: kind to plural name and scope, cached by group and version."""

import threading
from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

from mlcluster.kube.errors import ApiError


class Resource(NamedTuple):
    """Plural name and scope of a kind."""

    plural: str
    namespaced: bool


class Discovery:
    """A cache of discovery documents, which fetches each group and version once at a time."""

    def __init__(self, request: Callable[[str, str], dict[str, Any]]) -> None:
        self._request = request
        self._known: dict[str, dict[str, Resource]] = {}
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def find(self, api_version: str, kind: str) -> Resource:
        """Return the resource of a kind.

        Raises:
            ApiError: 404 with reason `NoKind`, after the document was fetched again.
        """
        before = self._known.get(api_version, {})
        if kind in before:
            return before[kind]
        with self._locks[api_version]:
            if self._known.get(api_version) is None or kind not in self._known[api_version]:
                self._known[api_version] = self._fetch(api_version, kind)
            found = self._known[api_version].get(kind)
        if found is None:
            raise _no_kind(api_version, kind)
        return found

    def _fetch(self, api_version: str, kind: str) -> dict[str, Resource]:
        root = "/apis" if "/" in api_version else "/api"
        try:
            listing = self._request("GET", f"{root}/{api_version}")
        except ApiError as error:
            if error.status == 404:
                raise _no_kind(api_version, kind) from None
            raise
        return {
            entry["kind"]: Resource(entry["name"], bool(entry["namespaced"]))
            for entry in listing.get("resources") or []
            if "/" not in entry["name"]
        }


def _no_kind(api_version: str, kind: str) -> ApiError:
    body = {"reason": "NoKind", "message": f"the server has no kind {kind} in {api_version}"}
    return ApiError(f"looking up {kind}", 404, body, "Check that its CRD is installed.")
