"""The client of one Kubernetes API server: requests, objects, discovery and access reviews. It is thread-safe."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

from mlcluster.kube.discovery import Discovery, Resource
from mlcluster.kube.errors import ApiError
from mlcluster.kube.impersonation import USER
from mlcluster.kube.kubeconfig import Access, read_kubeconfig
from mlcluster.kube.transport import APPLY, Transport

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import httpx

__all__ = ["Kube", "Resource"]

Object = dict[str, Any]
_PAGE = 500  # objects per page, as in kubectl

_MERGE = "application/merge-patch+json"


class Kube:
    """The client of one API server; objects are plain dicts.

    Every method raises `ApiError` (or its subclasses `Unauthorized` and `Forbidden`) for an error response, and
    `Unreachable` without a response. GETs and server-side applies are retried a few times; other writes are retried
    only after 429, which the server sends before it changes anything.
    """

    def __init__(self, access: Access, *, connections: int = 64, transport: httpx.BaseTransport | None = None) -> None:
        self.access = access
        self._transport = Transport(access, connections=connections, transport=transport)
        self._discovery = Discovery(self.request)

    @classmethod
    def from_kubeconfig(cls, source: Path | str, context: str | None = None) -> Self:
        """Return a client for a kubeconfig: a path, its text, or "" for the default paths."""
        return cls(read_kubeconfig(source, context))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection."""
        self._transport.close()

    def request(  # noqa: PLR0913 - the parts of an HTTP request
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: str = "application/json",
        params: Mapping[str, str] | None = None,
        headers: Iterable[tuple[str, str]] = (),
    ) -> Object:
        """Send one request, and return the JSON response."""
        return self._transport.send(
            method, path, body, content_type=content_type, params=params or {}, headers=tuple(headers)
        )

    def discover(self, api_version: str, kind: str) -> Resource:
        """Return plural name and scope of a kind, from a cache that is refreshed once if the kind is missing.

        Raises:
            ApiError: 404 with reason `NoKind` if the server does not serve the kind.
        """
        return self._discovery.find(api_version, kind)

    def path_of(self, manifest: Object, *, named: bool = True, subresource: str = "") -> str:
        """Return the URL path of an object, or of its collection with `named=False`."""
        metadata = manifest.get("metadata") or {}
        name = str(metadata["name"]) if named else ""
        return self._path(manifest["apiVersion"], manifest["kind"], name, metadata.get("namespace"), subresource)

    def _path(
        self, api_version: str, kind: str, name: str = "", namespace: str | None = None, subresource: str = ""
    ) -> str:
        resource = self.discover(api_version, kind)
        parts = [_root(api_version)]
        if resource.namespaced:
            parts += ["namespaces", quote(namespace or self.access.namespace, safe="")]
        parts += [resource.plural, *([quote(name, safe="")] if name else []), *([subresource] if subresource else [])]
        return "/".join(parts)

    def get_object(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Object | None:
        """Return the live object; None if the object, its namespace or its kind does not exist."""
        try:
            return self.request("GET", self._path(api_version, kind, name, namespace))
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def list(self, api_version: str, kind: str, namespace: str | None = None, label_selector: str = "") -> list[Object]:
        """Return all objects of a kind, with apiVersion and kind, in one namespace or (None) in all, read in pages."""
        resource = self.discover(api_version, kind)
        parts = [_root(api_version)]
        if namespace is not None and resource.namespaced:
            parts += ["namespaces", quote(namespace, safe="")]
        path = "/".join([*parts, resource.plural])
        params = {"limit": str(_PAGE)} | ({"labelSelector": label_selector} if label_selector else {})
        found: list[Object] = []
        while True:
            page = self.request("GET", path, params=params)
            found += [{"apiVersion": api_version, "kind": kind, **item} for item in page.get("items") or []]
            token = (page.get("metadata") or {}).get("continue")
            if not token:
                return found
            params["continue"] = token

    def create(
        self,
        manifest: Object,
        *,
        as_user: str | None = None,
        as_groups: Iterable[str] = (),
        dry_run: bool = False,
        field_manager: str = "mlcluster",
    ) -> Object:
        """Create an object by POST, optionally impersonating `as_user`; ApiError 409 if it exists."""
        params = {"fieldManager": field_manager} | _dry(dry_run)
        path = self.path_of(manifest, named=False)
        return self.request("POST", path, manifest, params=params, headers=_impersonate(as_user, as_groups))

    def apply(  # noqa: PLR0913 - each is an option of server-side apply
        self,
        manifest: Object,
        *,
        field_manager: str = "mlcluster",
        dry_run: bool = False,
        force: bool = True,
        field_validation: str = "Strict",
        subresource: str = "",
    ) -> Object:
        """Create or update an object by server-side apply, which takes ownership of the fields of `manifest`."""
        params = {
            "fieldManager": field_manager,
            "force": "true" if force else "false",
            "fieldValidation": field_validation,
            **_dry(dry_run),
        }
        path = self.path_of(manifest, subresource=subresource)
        return self.request("PATCH", path, manifest, content_type=APPLY, params=params)

    def patch(  # noqa: PLR0913 - an object has four coordinates
        self,
        api_version: str,
        kind: str,
        name: str,
        changes: Object,
        namespace: str | None = None,
        *,
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str = "mlcluster",
    ) -> Object:
        """Send a merge patch: keys of `changes` replace, None removes; `subresource` is e.g. `status` or `scale`."""
        params = {"fieldManager": field_manager} | _dry(dry_run)
        path = self._path(api_version, kind, name, namespace, subresource)
        return self.request("PATCH", path, changes, content_type=_MERGE, params=params)

    def delete(  # noqa: PLR0913 - an object has four coordinates
        self,
        api_version: str,
        kind: str,
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        propagation: str = "Background",
    ) -> None:
        """Delete an object; no error if it does not exist. With `uid`, another object of that name is a 409."""
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation}
        if uid:
            options["preconditions"] = {"uid": uid}
        try:
            self.request("DELETE", self._path(api_version, kind, name, namespace), options)
        except ApiError as error:
            if error.status != 404:
                raise

    def can(  # noqa: PLR0913 - the fields of an access review
        self,
        verb: str,
        group: str,
        resource: str,
        namespace: str = "",
        *,
        as_user: str | None = None,
        as_groups: Iterable[str] = (),
    ) -> bool:
        """Return whether the user, or `as_user`, has a permission; `resource` may be a subresource (`nodes/status`)."""
        plural, _, subresource = resource.partition("/")
        asked = {"verb": verb, "group": group, "resource": plural, "subresource": subresource, "namespace": namespace}
        kind = "SelfSubjectAccessReview"
        spec: Object = {"resourceAttributes": asked}
        if as_user is not None:
            kind = "SubjectAccessReview"
            spec |= {"user": as_user, "groups": [*as_groups]}
        root = "/apis/authorization.k8s.io/v1/"
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
        answer = self.request("POST", f"{root}{kind.lower()}s", body)
        return bool((answer.get("status") or {}).get("allowed"))

    def version(self) -> str:
        """Return the server's version, such as `v1.36.3`."""
        return str(self.request("GET", "/version").get("gitVersion") or "")

    def cluster_uid(self) -> str:
        """Return the UID of the namespace kube-system, which identifies a cluster independently of its address."""
        namespace = self.request("GET", "/api/v1/namespaces/kube-system")
        return str(namespace["metadata"]["uid"])

    def kubeconfig_text(self) -> str:
        """Return the kubeconfig reduced to this context, as JSON with credentials, for the private file of a tool."""
        return json.dumps(self.access.document)


def _root(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def _dry(dry_run: bool) -> dict[str, str]:  # noqa: FBT001 - the flag of its callers
    return {"dryRun": "All"} if dry_run else {}


def _impersonate(user: str | None, groups: Iterable[str]) -> list[tuple[str, str]]:
    if user is None:
        return []
    return [(USER, user), *(("Impersonate-Group", group) for group in groups)]
