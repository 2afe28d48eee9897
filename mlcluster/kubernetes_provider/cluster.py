"""The configured cluster, with retries of temporary errors, and waits for readiness and deletion."""

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
MANAGER = "mlcluster"  # the field manager of all applied objects
_NEW_KIND_SECONDS = 30.0  # a new CRD is not served at once
_NEW_NAMESPACE_SECONDS = 10.0
_WEBHOOK_SECONDS = 30.0  # for a controller that is starting
_DELETING_SECONDS = 120.0  # the deletion of a namespace takes up to a minute
_BLOCKED_SECONDS = 15.0  # a blocked deletion causes a warning after this time
_WEBHOOK_DOWN = ("connection refused", "no endpoints available", "connect: ", "EOF", "context deadline exceeded")


_ADOPT_TRIES = 5


class NotReady(Exception):  # noqa: N818 - the state of an object
    """The object exists but is not ready; `live` is its last observed form."""

    def __init__(self, reason: str, live: Object) -> None:
        super().__init__(reason)
        self.reason, self.live = reason, live


class Cluster:
    """Reads and writes on one API server; it is thread-safe.

    Args:
        kube: the API server.
        cancelled: set if the engine cancels all waits.
        pace: multiplies every pause and limit; tests use a small value.
    """

    def __init__(self, kube: Kube, cancelled: threading.Event, *, pace: float = 1.0) -> None:
        self.kube = kube
        self._cancelled = cancelled
        self._pace = pace

    def live(self, manifest: Object) -> Object | None:
        """Return the live object with the name of the manifest."""
        metadata = manifest["metadata"]
        return self.kube.get_object(
            manifest["apiVersion"], manifest["kind"], metadata["name"], metadata.get("namespace")
        )

    def dry_run(self, manifest: Object, manager: str = MANAGER, *, subresource: str = "") -> Object:
        """Return the object that the server would store, without a write and without retries."""
        return self.kube.apply(self._placed(manifest), field_manager=manager, dry_run=True, subresource=subresource)

    def apply(self, manifest: Object, manager: str = MANAGER, *, subresource: str = "") -> Object:
        """Apply an object, with retries while kinds, namespaces and webhooks become available."""

        def apply() -> Object:
            return self.kube.apply(self._placed(manifest), field_manager=manager, subresource=subresource)

        return self._patiently(apply)

    def apply_exactly(self, manifest: Object, manager: str = MANAGER) -> Object:
        """Apply an exact manifest, and remove the fields that other managers added to it."""
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
        """Create an object together with its status.

        A POST stores the status of a node, so the node never exists without one; for kinds that drop the status, it is
        written through their subresource.
        """
        live = self._patiently(lambda: self.kube.create(self._placed(manifest), field_manager=MANAGER))
        live = self._adopt(live)
        if not (live.get("status") or {}).keys() >= manifest["status"].keys():
            live = self.apply_status(manifest)
        return live

    def _adopt(self, live: Object) -> Object:
        """Convert the field ownership of a POST to that of an apply, so that a later apply can remove fields."""
        path = self.kube.path_of(live)
        for _ in range(_ADOPT_TRIES):
            entries = live["metadata"].get("managedFields") or []
            mine = [number for number, entry in enumerate(entries) if _posted(entry)]
            if not mine:
                return live
            entry = f"/metadata/managedFields/{mine[0]}"
            # Another writer can move the entry, so the same request tests it.
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
        """Write the status of an object; `gone` is a merge patch that removes unwanted fields."""
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
        """Wait until the object is ready, and return it.

        Raises:
            NotReady: it is not ready in time or will never be, or the engine cancelled the wait.
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
                raise NotReady("it was deleted during the wait", live)
            live = found

    def not_ready_now(self, live: Object) -> str:
        """Return why the object is not ready now; "" if it is."""
        return "" if skips_await(live) else self._verdict(live)[0]

    @staticmethod
    def _verdict(live: Object) -> tuple[str, bool]:
        try:
            return unready(live), False
        except NeverReady as never:
            return str(never), True

    def wait_gone(self, live: Object, seconds: float = 0.0, warn: Warn | None = None) -> None:
        """Wait until the API server has no object with the UID of this one.

        Args:
            live: the deleted object.
            seconds: the longest wait; 0 for the value of the object's annotation, or ten minutes.
            warn: called once with the reason if finalizers block the deletion.

        Raises:
            MlclusterError: the object still exists; the message names its finalizers.
        """
        limit = (seconds or patience(live, 0.0)) * self._pace
        began, pause, uid = time.monotonic(), 0.02, live["metadata"].get("uid")
        end = began + limit
        while True:
            found = self.live(live)
            if found is None or (uid and found["metadata"].get("uid") != uid):
                return
            if time.monotonic() > end or self._sleep(pause):
                waited = min(time.monotonic() - began, limit)
                raise MlclusterError(describe(live), stuck(found, waited), "Check the controllers of its finalizers.")
            if warn and time.monotonic() - began > _BLOCKED_SECONDS * self._pace and is_blocked(found):
                warn(f"{describe(live)} is still being deleted after {_BLOCKED_SECONDS:.0f} s; {holders(found)}")
                warn = None
            pause = min(pause * 1.6, 1.0)

    def wait_deleting(self, live: Object) -> None:
        """Wait for the deletion of an object that is being deleted."""
        self.wait_gone(live, _DELETING_SECONDS)

    def _placed(self, manifest: Object) -> Object:
        # An apply requires an explicit namespace; a cluster-scoped kind requires none.
        namespaced = self.kube.discover(manifest["apiVersion"], manifest["kind"]).namespaced
        if not namespaced or manifest["metadata"].get("namespace"):
            return manifest
        return {**manifest, "metadata": {**manifest["metadata"], "namespace": self.kube.access.namespace}}

    def _sleep(self, seconds: float) -> bool:
        return self._cancelled.wait(seconds * self._pace)


def applied_by(manager: str) -> IsManaged:
    """Return the test for entries of `managedFields` from this provider; `manager` wrote the object first."""
    return lambda entry: entry.get("operation") == "Apply" and entry.get("manager") in {manager, MANAGER}


def _posted(entry: Object) -> bool:
    return entry.get("manager") == MANAGER and entry.get("operation") == "Update" and not entry.get("subresource")


def _may_pass(error: ApiError) -> float:
    """Return for how many seconds a request with this error is retried."""
    message = error.message
    if error.status == 404:
        return _NEW_NAMESPACE_SECONDS if message.startswith("namespaces ") else _NEW_KIND_SECONDS
    if error.status == 503:
        return _WEBHOOK_SECONDS
    if error.status == 500 and "failed calling webhook" in message:
        return _WEBHOOK_SECONDS if any(sign in message for sign in _WEBHOOK_DOWN) else 0.0
    return 0.0
