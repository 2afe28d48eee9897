"""One Kubernetes API server: requests, objects, discovery and rights. Thread-safe; objects are plain dicts."""

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
_PAGE = 500  # objects a page, what kubectl asks for

_MERGE = "application/merge-patch+json"


class Kube:
    """Questions and writes to one API server.

    Every method raises `ApiError` (with `Unauthorized` and `Forbidden`) for an answer that is an error, and
    `Unreachable` when there is no answer. GETs and server-side applies are tried a few times, other writes are
    not (429 excepted: the server refused before doing anything).
    """

    def __init__(self, access: Access, *, connections: int = 64, transport: httpx.BaseTransport | None = None) -> None:
        self.access = access
        self._transport = Transport(access, connections=connections, transport=transport)
        self._discovery = Discovery(self.request)

    @classmethod
    def from_kubeconfig(cls, source: Path | str, context: str | None = None) -> Self:
        """Open the server of a kubeconfig: a path, the text itself, or "" for the default places."""
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
        """Send one request and give the JSON answer back."""
        return self._transport.send(
            method, path, body, content_type=content_type, params=params or {}, headers=tuple(headers)
        )

    def discover(self, api_version: str, kind: str) -> Resource:
        """Plural name and scope of a kind; asked once per group and version, once more on a miss.

        Raises:
            ApiError: 404 with reason `NoKind` when the server does not serve the kind.
        """
        return self._discovery.find(api_version, kind)

    def path_of(self, manifest: Object, *, named: bool = True, subresource: str = "") -> str:
        """The URL path of an object, or of its collection with `named=False`."""
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
        """The live object; None when it, its namespace or its kind does not exist."""
        try:
            return self.request("GET", self._path(api_version, kind, name, namespace))
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def list(self, api_version: str, kind: str, namespace: str | None = None, label_selector: str = "") -> list[Object]:
        """All objects of a kind, in one namespace or (None) everywhere, page by page; apiVersion and kind filled in."""
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
        """POST an object, as somebody else when `as_user` is given; 409 when it exists already."""
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
        """Server-side apply: creates the object or takes over exactly the fields that `manifest` sets."""
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
        """Merge patch: keys of `changes` replace, None removes; `subresource` such as `status` or `scale`."""
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
        """Ask for deletion; what is gone already is fine. With `uid`, another object of that name is a 409."""
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
        """Whether we (or `as_user`) may do it; `resource` may carry a subresource, `nodes/status`."""
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
        """The server's version, such as `v1.36.3`."""
        return str(self.request("GET", "/version").get("gitVersion") or "")

    def cluster_uid(self) -> str:
        """UID of the namespace kube-system: the identity of a cluster, whatever its address is."""
        namespace = self.request("GET", "/api/v1/namespaces/kube-system")
        return str(namespace["metadata"]["uid"])

    def kubeconfig_text(self) -> str:
        """The kubeconfig cut down to this context, as JSON, for a tool's private file. Holds credentials."""
        return json.dumps(self.access.document)


def _root(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def _dry(dry_run: bool) -> dict[str, str]:  # noqa: FBT001 - the flag of its callers
    return {"dryRun": "All"} if dry_run else {}


def _impersonate(user: str | None, groups: Iterable[str]) -> list[tuple[str, str]]:
    if user is None:
        return []
    return [(USER, user), *(("Impersonate-Group", group) for group in groups)]
