"""A small Kubernetes API server in memory, behind httpx's own transport: no socket, no process.

    server = FakeApiServer()
    kube = server.kube()                       # a real `Kube`, talking to it
    server.fail("PATCH", r"configmaps/bad$", 422, "Invalid", "spec: Invalid value: field is immutable")

It knows discovery, get, list with pages, create, server-side apply with field ownership per manager, merge patch,
delete with uid and finalizers, dry run, status subresources, CRDs that add kinds, and access reviews.
It knows no admission, no defaults and no controllers: set `on_write` or change `objects` for those.
"""

from __future__ import annotations

import copy
import json
import re
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx

from mlcluster.kube.client import Kube
from mlcluster.kube.kubeconfig import Access

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mlcluster.kube.impersonation import Headers

Object = dict[str, Any]

# api version, kind, plural, namespaced
_BUILT_IN = [
    ("v1", "Namespace", "namespaces", False),
    ("v1", "Node", "nodes", False),
    ("v1", "ConfigMap", "configmaps", True),
    ("v1", "Secret", "secrets", True),
    ("v1", "Service", "services", True),
    ("v1", "Pod", "pods", True),
    ("v1", "ServiceAccount", "serviceaccounts", True),
    ("v1", "ResourceQuota", "resourcequotas", True),
    ("v1", "PersistentVolumeClaim", "persistentvolumeclaims", True),
    ("v1", "Event", "events", True),
    ("apps/v1", "Deployment", "deployments", True),
    ("apps/v1", "DaemonSet", "daemonsets", True),
    ("apps/v1", "StatefulSet", "statefulsets", True),
    ("batch/v1", "Job", "jobs", True),
    ("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", True),
    ("rbac.authorization.k8s.io/v1", "Role", "roles", True),
    ("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", True),
    ("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", False),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings", False),
    ("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", False),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", False),
    ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", False),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", False),
    ("apiregistration.k8s.io/v1", "APIService", "apiservices", False),
    ("discovery.k8s.io/v1", "EndpointSlice", "endpointslices", True),
]


class Refusal(Exception):  # noqa: N818 - an answer, not a fault of the test
    """An error answer of the server."""

    def __init__(self, status: int, reason: str, message: str, causes: list[dict[str, str]] | None = None) -> None:
        super().__init__(message)
        self.status, self.reason, self.message, self.causes = status, reason, message, causes or []

    def body(self) -> Object:
        details = {"causes": self.causes} if self.causes else {}
        return {
            "kind": "Status",
            "status": "Failure",
            "code": self.status,
            "reason": self.reason,
            "message": self.message,
            "details": details,
        }


@dataclass
class _Rule:
    method: str
    path: re.Pattern[str]
    refusal: Refusal | httpx.TransportError
    times: int


@dataclass
class Call:
    """One request as the server saw it."""

    method: str
    path: str
    params: dict[str, str]
    headers: httpx.Headers
    body: Any


@dataclass(frozen=True)
class _Target:
    api_version: str
    kind: str
    namespaced: bool
    namespace: str
    name: str
    subresource: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        return (self.api_version.rpartition("/")[0], self.kind, self.namespace, self.name)


@dataclass
class FakeApiServer:
    """The server and everything it holds.

    Attributes:
        objects: the live objects, keyed by (group, kind, namespace, name).
        calls: every request, in order.
        can: answers access reviews; gets the review's spec.
        on_write: called with (old or None, new) before an object is stored; may change `new` or raise `Refusal`.
        page: objects a page at most, whatever the client asks for.
    """

    objects: dict[tuple[str, str, str, str], Object] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    can: Callable[[Object], bool] = lambda _spec: True
    on_write: Callable[[Object | None, Object], None] = lambda _old, _new: None
    page: int = 500

    def __post_init__(self) -> None:
        self._lock = threading.RLock()
        self._revision = 100
        self._rules: list[_Rule] = []
        self._applied: dict[tuple[tuple[str, str, str, str], str], Object] = {}
        self._kinds = {(version, plural): (kind, namespaced) for version, kind, plural, namespaced in _BUILT_IN}
        for name in ("default", "kube-system"):
            self.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    def kube(self, namespace: str = "default", impersonation: Headers = ()) -> Kube:
        """A client of this server."""
        access = Access(
            server="http://fake", context="fake", namespace=namespace, tls=None, token=lambda: "", proxy=None,
            server_name="", document={"apiVersion": "v1", "kind": "Config"}, impersonation=impersonation,
        )  # fmt: skip
        return Kube(access, transport=httpx.MockTransport(self._handle))

    def put(self, manifest: Object) -> Object:
        """Store an object as somebody else would have: no manager of ours, uid and versions filled in."""
        with self._lock:
            group = manifest["apiVersion"].rpartition("/")[0]
            metadata = manifest["metadata"]
            key = (group, manifest["kind"], metadata.get("namespace", ""), metadata["name"])
            return self._store(key, copy.deepcopy(manifest), dry_run=False)

    def get(self, kind: str, name: str, namespace: str = "") -> Object | None:
        """The live object of a kind, whatever its group."""
        found = [v for (_, k, ns, n), v in self.objects.items() if (k, ns, n) == (kind, namespace, name)]
        return found[0] if found else None

    def fail(
        self,
        method: str,
        path: str,
        status: int,
        reason: str = "",
        message: str = "made to fail",
        *,
        causes: list[dict[str, str]] | None = None,
        times: int = 1_000_000,
    ) -> None:
        """Answer matching requests (method, regular expression over path and query) with an error, `times` times."""
        self._rules.append(_Rule(method, re.compile(path), Refusal(status, reason, message, causes), times))

    def hang_up(self, method: str, path: str, error: httpx.TransportError, times: int = 1_000_000) -> None:
        """Give no answer at all to matching requests."""
        self._rules.append(_Rule(method, re.compile(path), error, times))

    def heal(self) -> None:
        """Forget every failure set so far."""
        self._rules.clear()

    # -- requests

    def _handle(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content) if request.content else None
        with self._lock:
            self.calls.append(
                Call(request.method, request.url.path, dict(request.url.params), request.headers, copy.deepcopy(body))
            )
            try:
                self._apply_rules(request)
                return httpx.Response(200, json=self._route(request, body))
            except Refusal as refusal:
                return httpx.Response(refusal.status, json=refusal.body())

    def _apply_rules(self, request: httpx.Request) -> None:
        for rule in self._rules:
            if rule.times and rule.method == request.method and rule.path.search(request.url.raw_path.decode()):
                rule.times -= 1
                raise rule.refusal

    def _route(self, request: httpx.Request, body: Any) -> Object:
        path = request.url.path
        if path == "/version":
            return {"gitVersion": "v1.36.3"}
        if path.endswith("accessreviews"):
            return {**body, "status": {"allowed": self.can(body["spec"])}}
        parts = path.strip("/").split("/")
        api_version, rest = (parts[1], parts[2:]) if parts[0] == "api" else ("/".join(parts[1:3]), parts[3:])
        if not rest:
            return self._discovery(api_version)
        return self._act(request, self._target(api_version, rest), body)

    def _act(self, request: httpx.Request, target: _Target, body: Any) -> Object:
        params = request.url.params
        dry_run = params.get("dryRun") == "All"
        if request.method == "GET":
            return copy.deepcopy(self._live(target)) if target.name else self._list(target, params)
        if request.method == "POST":
            return self._create(target, body, params.get("fieldManager", ""), dry_run=dry_run)
        if request.method == "DELETE":
            return self._delete(target, body or {})
        if "apply-patch" in request.headers["content-type"]:
            return self._apply(target, body, params, dry_run=dry_run)
        change = _json_patch if "json-patch" in request.headers["content-type"] else _merge
        live = self._live(target)
        if isinstance(body, dict):
            asked = (body.get("metadata") or {}).get("resourceVersion")
            if asked and asked != live["metadata"]["resourceVersion"]:
                raise Refusal(409, "Conflict", "the object has been modified")
        merged = change(copy.deepcopy(live), body)
        return copy.deepcopy(self._store(target.key, merged, dry_run=dry_run))

    def _discovery(self, api_version: str) -> Object:
        resources = [
            {"name": plural, "kind": kind, "namespaced": namespaced}
            for (version, plural), (kind, namespaced) in self._kinds.items()
            if version == api_version
        ]
        if not resources:
            raise Refusal(404, "", "404 page not found")
        return {"kind": "APIResourceList", "groupVersion": api_version, "resources": resources}

    def _target(self, api_version: str, rest: list[str]) -> _Target:
        namespace = ""
        if rest[0] == "namespaces" and len(rest) > 2 and (api_version, rest[2]) in self._kinds:
            namespace, rest = rest[1], rest[2:]
        if (api_version, rest[0]) not in self._kinds:
            raise Refusal(404, "", "404 page not found")
        kind, namespaced = self._kinds[api_version, rest[0]]
        rest = [*rest, "", ""]
        return _Target(api_version, kind, namespaced, namespace, rest[1], rest[2])

    def _live(self, target: _Target) -> Object:
        if target.key not in self.objects:
            raise Refusal(404, "NotFound", f'{target.kind.lower()} "{target.name}" not found')
        return self.objects[target.key]

    def _list(self, target: _Target, params: httpx.QueryParams) -> Object:
        wanted = dict(item.split("=") for item in params.get("labelSelector", "").split(",") if item)
        group = target.api_version.rpartition("/")[0]
        found = [
            item
            for (g, kind, namespace, _), item in sorted(self.objects.items())
            if (g, kind) == (group, target.kind)
            and target.namespace in {"", namespace}
            and wanted.items() <= (item["metadata"].get("labels") or {}).items()
        ]
        start, size = int(params.get("continue", "0")), min(self.page, int(params.get("limit", "500")))
        more = {"continue": str(start + size)} if start + size < len(found) else {}
        items = [{k: v for k, v in item.items() if k not in {"apiVersion", "kind"}} for item in found]
        return {"kind": f"{target.kind}List", "metadata": more, "items": copy.deepcopy(items[start : start + size])}

    # -- writes

    def _create(self, target: _Target, body: Object, manager: str, *, dry_run: bool) -> Object:
        target = _Target(**{**target.__dict__, "name": body["metadata"]["name"]})
        if target.key in self.objects:
            raise Refusal(409, "AlreadyExists", f'{target.kind.lower()} "{target.name}" already exists')
        self._need_namespace(target)
        new = copy.deepcopy(body)
        if target.kind != "Node":  # a node keeps the status it is posted with, nothing else of ours does
            new.pop("status", None)
        _note_manager(new, manager, "Update")
        return copy.deepcopy(self._store(target.key, new, dry_run=dry_run))

    def _apply(self, target: _Target, body: Object, params: httpx.QueryParams, *, dry_run: bool) -> Object:
        manager = params["fieldManager"]
        old = self.objects.get(target.key)
        wanted = copy.deepcopy(body)
        asked = wanted["metadata"].pop("resourceVersion", "")
        if asked and asked != (old or {"metadata": {}})["metadata"].get("resourceVersion"):
            raise Refusal(409, "Conflict", "the object has been modified")
        if target.subresource == "status":
            wanted = {key: wanted[key] for key in ("apiVersion", "kind", "metadata", "status") if key in wanted}
            self._live(target)
        else:
            wanted.pop("status", None)
            self._need_namespace(target)
        owner = (target.key, f"{manager}/{target.subresource}")
        new = copy.deepcopy(old) if old else {}
        _prune(new, self._applied.get(owner, {}), wanted)
        _overlay(new, wanted)
        _note_manager(new, manager, "Apply", (wanted["metadata"].get("labels") or {}).keys())
        stored = self._store(target.key, new, dry_run=dry_run)
        if not dry_run:
            self._applied[owner] = wanted
        return copy.deepcopy(stored)

    def _need_namespace(self, target: _Target) -> None:
        if target.namespaced and ("", "Namespace", "", target.namespace) not in self.objects:
            raise Refusal(404, "NotFound", f'namespaces "{target.namespace}" not found')

    def _store(self, key: tuple[str, str, str, str], new: Object, *, dry_run: bool) -> Object:
        old = self.objects.get(key)
        self.on_write(old, new)
        metadata = new["metadata"]
        if key[2]:
            metadata.setdefault("namespace", key[2])
        self._revision += 1
        metadata.setdefault("uid", f"uid-{self._revision}")
        metadata.setdefault("creationTimestamp", "2026-01-01T00:00:00Z")
        changed = old is None or old.get("spec") != new.get("spec")
        metadata["generation"] = (old or {"metadata": {}})["metadata"].get("generation", 0) + changed
        metadata["resourceVersion"] = str(self._revision)
        if dry_run:
            return new
        self.objects[key] = new
        if metadata.get("deletionTimestamp") and not metadata.get("finalizers"):
            del self.objects[key]
            self._end_namespace(key[2])
        if new["kind"] == "CustomResourceDefinition":
            self._serve(new)
        return new

    def _serve(self, crd: Object) -> None:
        crd["status"] = {"conditions": [{"type": "Established", "status": "True"}]}
        spec = crd["spec"]
        for version in spec["versions"]:
            api_version = f"{spec['group']}/{version['name']}"
            self._kinds[api_version, spec["names"]["plural"]] = (spec["names"]["kind"], spec["scope"] == "Namespaced")

    def _finalizers_remaining(self, namespace: str) -> Object:
        """As pkg/controller/namespace/deletion/status_condition_utils.go of Kubernetes words it."""
        left = [item for key, item in self.objects.items() if key[2] == namespace]
        counts = Counter(name for item in left for name in item["metadata"].get("finalizers") or [])
        told = ", ".join(f"{name} in {count} resource instances" for name, count in sorted(counts.items()))
        message = f"Some content in the namespace has finalizers remaining: {told}"
        return {"type": "NamespaceFinalizersRemaining", "status": "True", "message": message}

    def _end_namespace(self, namespace: str) -> None:
        """A namespace that is being deleted goes with the last object in it."""
        key = ("", "Namespace", "", namespace)
        ending = key in self.objects and self.objects[key]["metadata"].get("deletionTimestamp")
        if ending and not any(other[2] == namespace for other in self.objects):
            del self.objects[key]

    def _empties(self, namespace: str) -> bool:
        """Delete what is in a namespace; whether finalizers keep some of it, and so the namespace."""
        for key, item in [entry for entry in self.objects.items() if entry[0][2] == namespace]:
            if item["metadata"].get("finalizers"):
                item["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:01Z"
            else:
                del self.objects[key]
        return any(key[2] == namespace for key in self.objects)

    def _delete(self, target: _Target, options: Object) -> Object:
        live = self._live(target)
        uid = (options.get("preconditions") or {}).get("uid")
        if uid and uid != live["metadata"]["uid"]:
            raise Refusal(409, "Conflict", f"the UID in the precondition ({uid}) does not match the UID in record")
        if live["metadata"].get("finalizers"):
            live["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:01Z"
            return copy.deepcopy(live)
        if live["kind"] == "Namespace" and self._empties(target.name):
            live["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:01Z"
            live["status"] = {"conditions": [self._finalizers_remaining(target.name)]}
            return copy.deepcopy(live)
        del self.objects[target.key]
        for owner in [owner for owner in self._applied if owner[0] == target.key]:
            del self._applied[owner]
        return {"kind": "Status", "status": "Success"}


def _note_manager(new: Object, manager: str, operation: str, labels: Iterable[str] = ()) -> None:
    """Of the fields that a manager owns only the labels are told."""
    fields = new["metadata"].setdefault("managedFields", [])
    entry = next((entry for entry in fields if entry["manager"] == manager), None)
    if entry is None:
        entry = {"manager": manager, "operation": operation}
        fields.append(entry)
    owned: Object = {f"f:{key}": {} for key in labels}
    entry.pop("fieldsV1", None)
    if owned:
        entry["fieldsV1"] = {"f:metadata": {"f:labels": owned}}


def _overlay(live: Object, wanted: Object) -> None:
    for key, value in wanted.items():
        if isinstance(value, dict) and isinstance(live.get(key), dict):
            _overlay(live[key], value)
        else:
            live[key] = copy.deepcopy(value)


def _prune(live: Object, before: Object, wanted: Object) -> None:
    """Take away what this manager applied before and no longer wants."""
    for key, value in before.items():
        if key not in wanted and isinstance(value, dict) and isinstance(live.get(key), dict):
            _prune(live[key], value, {})
            if not live[key]:
                del live[key]
        elif key not in wanted:
            live.pop(key, None)
        elif isinstance(value, dict) and isinstance(wanted[key], dict) and isinstance(live.get(key), dict):
            _prune(live[key], value, wanted[key])


def _merge(live: Object, patch: Object) -> Object:
    for key, value in patch.items():
        if value is None:
            live.pop(key, None)
        elif isinstance(value, dict):
            live[key] = _merge(live.get(key) or {}, value)
        else:
            live[key] = value
    return live


def _json_patch(live: Object, operations: list[Object]) -> Object:
    for operation in operations:
        *parents, last = operation["path"].strip("/").split("/")
        at: Any = live
        for part in parents:
            at = at[int(part)] if isinstance(at, list) else at[part]
        if operation["op"] == "test" and at[last] != operation["value"]:
            raise Refusal(422, "Invalid", f"test of {operation['path']} failed")
        if operation["op"] == "replace":
            at[last] = operation["value"]
        if operation["op"] == "remove":
            del at[int(last) if isinstance(at, list) else last]
    return live
