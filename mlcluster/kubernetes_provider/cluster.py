"""One configured cluster, with patience: what may pass is tried again, and readiness and absence are waited for."""

import threading
import time
from typing import Any

from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.kube.errors import ApiError
from mlcluster.kubernetes_provider.ownership import describe, identity
from mlcluster.kubernetes_provider.ready import NeverReady, patience, skips_await, unready

Object = dict[str, Any]

_JSON_PATCH = "application/json-patch+json"
_ADOPTIONS = 5  # tries until no other manager wrote in between
MANAGER = "mlcluster"  # the field manager of everything we apply
_NEW_KIND_SECONDS = 30.0  # a CRD made a moment ago is not served at once
_NEW_NAMESPACE_SECONDS = 10.0
_WEBHOOK_SECONDS = 30.0  # a controller that is just starting
_DELETING_SECONDS = 120.0  # namespaces take up to a minute to go
_WEBHOOK_DOWN = ("connection refused", "no endpoints available", "connect: ", "EOF", "context deadline exceeded")


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
        start, pause = time.monotonic(), 0.2
        while True:
            try:
                return self.kube.apply(self._placed(manifest), field_manager=manager, subresource=subresource)
            except ApiError as error:
                if time.monotonic() - start >= _may_pass(error) * self._pace or self._sleep(pause):
                    raise
            pause = min(pause * 1.5, 2.0)

    def create_with_status(self, manifest: Object) -> Object:
        """Create an object that brings its status.

        A POST keeps a node's status, so no moment passes in which the node has none; kinds that drop it get it
        through their subresource. The POST's field ownership is then made the same as that of an apply, or a label
        taken out of the program later would stay.
        """
        live = self._adopt(self.kube.create(self._placed(manifest), field_manager=MANAGER))
        if not (live.get("status") or {}).keys() >= manifest["status"].keys():
            live = self.apply_status(manifest)
        return live

    def _adopt(self, live: Object) -> Object:
        """Make our POST's field ownership that of an apply; other managers may write at the same moment."""
        for _ in range(_ADOPTIONS):
            fields = live["metadata"].get("managedFields") or []
            ours = [
                index
                for index, entry in enumerate(fields)
                if entry.get("manager") == MANAGER and entry.get("operation") == "Update"
            ]
            if not ours:
                return live
            entry = f"/metadata/managedFields/{ours[0]}"
            adopt = [
                {"op": "test", "path": f"{entry}/manager", "value": MANAGER},
                {"op": "replace", "path": f"{entry}/operation", "value": "Apply"},
            ]
            try:
                return self.kube.request("PATCH", self.kube.path_of(live), adopt, content_type=_JSON_PATCH)
            except ApiError as error:
                if error.status != 422:
                    raise
            live = self.live(live) or live
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

    def wait_gone(self, live: Object, seconds: float = 0.0) -> None:
        """Wait until the object, told by its uid, is gone.

        Raises:
            MlclusterError: it is still there; says what holds it.
        """
        limit = (seconds or patience(live, 0.0)) * self._pace
        end, pause, uid = time.monotonic() + limit, 0.02, live["metadata"].get("uid")
        while True:
            found = self.live(live)
            if found is None or (uid and found["metadata"].get("uid") != uid):
                return
            if time.monotonic() > end or self._sleep(pause):
                raise MlclusterError(describe(live), _stuck(found, limit), "see what its finalizers wait for")
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


def _stuck(found: Object, seconds: float) -> str:
    metadata, status = found["metadata"], found.get("status") or {}
    if not metadata.get("deletionTimestamp"):
        return f"{identity(found)} is still there after {seconds:.0f} s"
    holders = ", ".join(metadata.get("finalizers") or found.get("spec", {}).get("finalizers") or []) or "none"
    told = [
        str(item.get("message"))
        for item in status.get("conditions") or []
        if item.get("status") == "True" and "Remaining" in str(item.get("type"))
    ]
    return " ".join([f"it is still being deleted after {seconds:.0f} s; finalizers: {holders}.", *told])
