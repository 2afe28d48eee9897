"""Gates: wait until a release is ready for the objects that depend on it.

A release is ready when its CRDs are Established and served, and its webhooks respond to their readiness probes. A
probe creates an object by server-side dry run; a rejection by the webhook is a response too. A webhook that generates
its certificate can be ready seconds after its Deployment, and until then every write fails with "failed calling
webhook".
"""

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from mlcluster.errors import InterruptedByUserError, MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.kube.errors import ApiError, Forbidden, Unauthorized, Unreachable
from mlcluster.plan.model import DefiningObject, PlanRelease

READY_SECONDS = 300.0
"""How long a release may take to be ready after Helm has installed it, which includes the image pulls."""

_REPEAT_SECONDS = 30.0
_LONGEST_PAUSE = 2.0
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_WEBHOOK_DOWN = ("failed calling webhook", "conversion webhook for", "being terminated")


@dataclass(frozen=True, slots=True)
class Awaited:
    """A part of a release that is not ready, with its last status."""

    part: str
    status: str


class Gates:
    """Waits for releases, each in the thread of its caller; `stop` ends all waits at once.

    Args:
        kube: the cluster.
        releases: the releases to wait for.
        tell: receives messages about the waits.
        patience: seconds for each release.

    Attributes:
        failure: the error of the first failed wait, or None.
    """

    def __init__(
        self,
        kube: Kube,
        releases: Iterable[PlanRelease | DefiningObject],
        tell: Callable[[str], object],
        *,
        patience: float = READY_SECONDS,
    ) -> None:
        self.failure: MlclusterError | None = None
        self._kube = kube
        self._releases = {release.id: release for release in releases}
        self._tell = tell
        self._patience = patience
        self._stopped = threading.Event()

    def __call__(self, release_id: str) -> None:
        """Return once the release is ready.

        Raises:
            InterruptedByUserError: `stop` was called.
            MlclusterError: the release is not ready in time, or a permission is missing; names the part that is not
                ready, and its last status.
        """
        try:
            self._wait(self._releases[release_id])
        except MlclusterError as error:
            self.failure = self.failure or error
            raise

    def stop(self) -> None:
        """End every present and future wait."""
        self._stopped.set()

    def _wait(self, release: PlanRelease | DefiningObject) -> None:
        began, told, pause = time.monotonic(), -_REPEAT_SECONDS, 0.1
        while awaited := unready_part(self._kube, release):
            waited = time.monotonic() - began
            if waited > self._patience:
                raise _too_late(release, awaited, self._patience)
            if waited - told >= _REPEAT_SECONDS:
                told = waited
                self._tell(f"  waiting for {release.name}: {awaited.part}: {awaited.status}")
            if self._stopped.wait(pause):
                doing = f"waiting for {release.name}"
                raise InterruptedByUserError(
                    doing, f"interrupted; {awaited.part} is not ready yet", "Run `mlcluster up` again."
                )
            pause = min(pause * 1.5, _LONGEST_PAUSE)
        if told >= 0:
            self._tell(f"  {release.name} is ready after {time.monotonic() - began:.0f} s")


def unready_part(kube: Kube, release: PlanRelease | DefiningObject) -> Awaited | None:
    """Return the first part of a release that is not ready; None if all are ready.

    Raises:
        MlclusterError: a permission is missing.
    """
    for name in release.crds:
        if status := _crd(kube, name):
            return Awaited(f"the CRD {name}", status)
    for manifest in release.webhook_probes:
        if status := _webhook(kube, manifest):
            return Awaited(f"the webhook for {manifest['kind']} ({manifest['apiVersion']})", status)
    return None


def _crd(kube: Kube, name: str) -> str:
    """Return why a CRD cannot be used yet; "" if it can."""
    try:
        found = kube.request("GET", f"{_DEFINITIONS}/{name}")
        conditions = {entry["type"]: entry for entry in (found.get("status") or {}).get("conditions") or []}
        if conditions.get("Established", {}).get("status") != "True":
            refused = [entry.get("message") for entry in conditions.values() if entry.get("status") == "False"]
            return str(next(filter(None, refused), "it is not Established yet"))
        return _served(kube, found["spec"])
    except Unreachable as error:
        return error.happened
    except ApiError as error:
        _refuse_if_final(error)
        return "it is not there" if error.status == 404 else error.message


def _served(kube: Kube, spec: dict[str, Any]) -> str:
    """Return why a CRD is not served yet, as the API server serves a CRD shortly after it is Established."""
    version = next(entry["name"] for entry in spec["versions"] if entry.get("served", True))
    listing = kube.request("GET", f"/apis/{spec['group']}/{version}")
    names = {entry["name"] for entry in listing.get("resources") or []}
    return "" if spec["names"]["plural"] in names else "it is Established and not served yet"


def _webhook(kube: Kube, manifest: dict[str, Any]) -> str:
    """Return why the webhook does not respond to its readiness probe yet; "" if it admits or rejects the object."""
    try:
        kube.create(manifest, dry_run=True)
    except Unreachable as error:
        return error.happened
    except ApiError as error:
        _refuse_if_final(error)
        if any(sign in error.message for sign in _WEBHOOK_DOWN) or error.status in {404, 429} or error.status >= 500:
            return error.message
    return ""


def _refuse_if_final(error: ApiError) -> None:
    """Raise an error of authentication or authorization, which a retry does not resolve."""
    if isinstance(error, Unauthorized) or (isinstance(error, Forbidden) and " cannot " in error.message):
        raise error


def _too_late(release: PlanRelease | DefiningObject, awaited: Awaited, seconds: float) -> MlclusterError:
    where = f"kubectl -n {release.namespace}"
    return MlclusterError(
        f"waiting for {release.name}",
        f"{awaited.part} is not ready after {seconds:.0f} s; its last status: {awaited.status}",
        f"Check `{where} get pods,endpointslices` and the controller's log (`{where} logs deploy/NAME`), correct the "
        "cause and run `mlcluster up` again, or run `mlcluster down`.",
    )
