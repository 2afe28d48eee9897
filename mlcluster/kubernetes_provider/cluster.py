"""The configured cluster, with retries of passing errors, and waits for readiness and absence."""

import threading
import time
from collections.abc import Callable
from typing import Any

from mlcluster.errors import MlclusterError
from mlcluster.kube.added_fields import IsManaged
from mlcluster.kube.client import Kube
from mlcluster.kube.errors import ApiError
from mlcluster.kube.exact import make_exact
from mlcluster.kubernetes_provider.blocked import holders, is_blocked, stuck
from mlcluster.kubernetes_provider.ownership import describe
from mlcluster.kubernetes_provider.ready import NeverReady, patience, skips_await, unready

Object = dict[str, Any]
Warn = Callable[[str], object]

_JSON_PATCH = "application/json-patch+json"
MANAGER = "mlcluster"  # the field manager of everything we apply
_NEW_KIND_SECONDS = 30.0  # a CRD made a moment ago is not served at once
_NEW_NAMESPACE_SECONDS = 10.0
_WEBHOOK_SECONDS = 30.0  # a controller that is just starting
_DELETING_SECONDS = 120.0  # namespaces take up to a minute to go
_BLOCKED_SECONDS = 15.0  # after which a blocked deletion is a warning
_WEBHOOK_DOWN = ("connection refused", "no endpoints available", "connect: ", "EOF", "context deadline exceeded")


_ADOPT_TRIES = 5


class NotReady(Exception):  # noqa: N818 - the state of an object
    """The object exists but is not ready; carries it as last seen."""

    def __init__(self, reason: str, live: Object) -> None:
        super().__init__(reason)
        self.reason, self.live = reason, live


class Cluster:
    """Reads and writes of one API server, for many threads.

    Args:
        kube: the server.
        cancelled: set when the engine wants every wait to end.
        pace: multiplies every pause and limit; tests make it small.
    """

    def __init__(self, kube: Kube, cancelled: threading.Event, *, pace: float = 1.0) -> None:
        self.kube = kube
        self._cancelled = cancelled
        self._pace = pace

    def live(self, manifest: Object) -> Object | None:
        """The live object that a manifest names."""
        metadata = manifest["metadata"]
        return self.kube.get_object(
            manifest["apiVersion"], manifest["kind"], metadata["name"], metadata.get("namespace")
        )

    def dry_run(self, manifest: Object, manager: str = MANAGER, *, subresource: str = "") -> Object:
        """What the server would make of it. Nothing is written and nothing is waited for."""
        return self.kube.apply(self._placed(manifest), field_manager=manager, dry_run=True, subresource=subresource)

    def apply(self, manifest: Object, manager: str = MANAGER, *, subresource: str = "") -> Object:
        """Server-side apply, with patience for kinds, namespaces and webhooks that are just coming up."""

        def apply() -> Object:
            return self.kube.apply(self._placed(manifest), field_manager=manager, subresource=subresource)

        return self._patiently(apply)

    def apply_exactly(self, manifest: Object, manager: str = MANAGER) -> Object:
        """Server-side apply, and the removal of what other managers added where the manifest is exact."""
        live = self.apply(manifest, manager)
        return make_exact(self.kube, manifest, live, applied_by(manager), manager)

    def _patiently(self, call: Callable[[], Object]) -> Object:
        start, pause = time.monotonic(), 0.2
        while True:
            try:
                return call()
            except ApiError as error:
                if time.monotonic() - start >= _may_pass(error) * self._pace or self._sleep(pause):
                    raise
            pause = min(pause * 1.5, 2.0)

    def create_with_status(self, manifest: Object) -> Object:
        """Create an object that brings its status.

        A POST keeps a node's status, so no moment passes in which the node has none; kinds that drop it get it
        through their subresource.
        """
        live = self._patiently(lambda: self.kube.create(self._placed(manifest), field_manager=MANAGER))
        live = self._adopt(live)
        if not (live.get("status") or {}).keys() >= manifest["status"].keys():
            live = self.apply_status(manifest)
        return live

    def _adopt(self, live: Object) -> Object:
        """Make a POST's field ownership that of an apply, or a label taken out of the program later would stay."""
        path = self.kube.path_of(live)
        for _ in range(_ADOPT_TRIES):
            entries = live["metadata"].get("managedFields") or []
            mine = [number for number, entry in enumerate(entries) if _posted(entry)]
            if not mine:
                return live
            entry = f"/metadata/managedFields/{mine[0]}"
            # Another writer may move our entry, so what we change is tested in the same request.
            adopt = [
                {"op": "test", "path": f"{entry}/manager", "value": MANAGER},
                {"op": "test", "path": f"{entry}/operation", "value": "Update"},
                {"op": "replace", "path": f"{entry}/operation", "value": "Apply"},
            ]
            try:
                return self.kube.request("PATCH", path, adopt, content_type=_JSON_PATCH)
            except ApiError as error:
                if error.status not in {409, 422}:
                    raise
            live = self.kube.request("GET", path)
        return live

    def apply_status(self, manifest: Object, gone: Object | None = None) -> Object:
        """Write the status of an object; `gone` is a merge patch for what is no longer wanted."""
        if gone:
            metadata = manifest["metadata"]
            self.kube.patch(
                manifest["apiVersion"],
                manifest["kind"],
                metadata["name"],
                {"status": gone},
                metadata.get("namespace"),
                subresource="status",
            )
        kept = {key: manifest[key] for key in ("apiVersion", "kind", "status")}
        place = {key: manifest["metadata"][key] for key in ("name", "namespace") if key in manifest["metadata"]}
        return self.apply({**kept, "metadata": place}, subresource="status")

    def wait_ready(self, live: Object, seconds: float) -> Object:
        """The object once it is ready.

        Raises:
            NotReady: not in time, never, or the engine was cancelled.
        """
        if skips_await(live):
            return live
        end, pause = time.monotonic() + patience(live, seconds) * self._pace, 0.05
        while True:
            reason, final = self._verdict(live)
            if not reason:
                return live
            if final or time.monotonic() > end:
                raise NotReady(reason, live)
            if self._sleep(pause):
                raise NotReady(f"interrupted while waiting: {reason}", live)
            pause = min(pause * 1.5, 2.0)
            found = self.live(live)
            if found is None:
                raise NotReady("it was deleted while we waited", live)
            live = found

    def not_ready_now(self, live: Object) -> str:
        """Why the object is not ready at this moment; "" when it is."""
        return "" if skips_await(live) else self._verdict(live)[0]

    @staticmethod
    def _verdict(live: Object) -> tuple[str, bool]:
        try:
            return unready(live), False
        except NeverReady as never:
            return str(never), True

    def wait_gone(self, live: Object, seconds: float = 0.0, warn: Warn | None = None) -> None:
        """Wait until the API server has no object with the uid of this one.

        Args:
            seconds: how long to wait at most; 0 for what the object's annotation sets, or ten minutes.
            warn: called once with the reason if finalizers block the deletion.

        Raises:
            MlclusterError: the object still exists; names its finalizers.
        """
        limit = (seconds or patience(live, 0.0)) * self._pace
        began, pause, uid = time.monotonic(), 0.02, live["metadata"].get("uid")
        end = began + limit
        while True:
            found = self.live(live)
            if found is None or (uid and found["metadata"].get("uid") != uid):
                return
            if time.monotonic() > end or self._sleep(pause):
                raise MlclusterError(describe(live), stuck(found, limit), "see what its finalizers wait for")
            if warn and time.monotonic() - began > _BLOCKED_SECONDS * self._pace and is_blocked(found):
                warn(f"{describe(live)} is still being deleted after {_BLOCKED_SECONDS:.0f} s; {holders(found)}")
                warn = None
            pause = min(pause * 1.6, 1.0)

    def wait_deleting(self, live: Object) -> None:
        """Wait for an object that somebody is deleting already."""
        self.wait_gone(live, _DELETING_SECONDS)

    def _placed(self, manifest: Object) -> Object:
        # An apply wants its namespace spelled out; a cluster-wide kind wants none.
        namespaced = self.kube.discover(manifest["apiVersion"], manifest["kind"]).namespaced
        if not namespaced or manifest["metadata"].get("namespace"):
            return manifest
        return {**manifest, "metadata": {**manifest["metadata"], "namespace": self.kube.access.namespace}}

    def _sleep(self, seconds: float) -> bool:
        return self._cancelled.wait(seconds * self._pace)


def applied_by(manager: str) -> IsManaged:
    """Return what tells the entries of `managedFields` that our applies made; `manager` wrote the object first."""
    return lambda entry: entry.get("operation") == "Apply" and entry.get("manager") in {manager, MANAGER}


def _posted(entry: Object) -> bool:
    return entry.get("manager") == MANAGER and entry.get("operation") == "Update" and not entry.get("subresource")


def _may_pass(error: ApiError) -> float:
    """For how many seconds such an answer is worth another try."""
    message = error.message
    if error.status == 404:
        return _NEW_NAMESPACE_SECONDS if message.startswith("namespaces ") else _NEW_KIND_SECONDS
    if error.status == 503:
        return _WEBHOOK_SECONDS
    if error.status == 500 and "failed calling webhook" in message:
        return _WEBHOOK_SECONDS if any(sign in message for sign in _WEBHOOK_DOWN) else 0.0
    return 0.0
