"""Gates: wait until the API server shows that a release is ready for the objects that need it.

A release is ready when its custom resource definitions are Established and served, and when an object of each kind
that its webhooks look at gets an answer. That object is created by server-side dry run: a refusal of the webhook is an
answer too. A webhook that makes its own certificate can be seconds later than its Deployment, and until then every
write fails with "failed calling webhook".
"""

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from mlcluster.errors import InterruptedByUserError, MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.kube.errors import ApiError, Forbidden, Unauthorized, Unreachable

READY_SECONDS = 300.0
"""How long after its chart has succeeded a release may take; the slowest pull was over before, so this is ample."""

_REPEAT_SECONDS = 30.0
_LONGEST_PAUSE = 2.0
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_WEBHOOK_DOWN = ("failed calling webhook", "conversion webhook for", "being terminated")


class Release(Protocol):
    """What a gate needs to know of a plan's release."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def crds(self) -> tuple[str, ...]: ...
    @property
    def webhook_probes(self) -> tuple[dict[str, Any], ...]: ...


@dataclass(frozen=True, slots=True)
class Awaited:
    """What is not there yet: `what` did not do its part, and `said` is the last that was heard of it."""

    what: str
    said: str


class Gates:
    """Waits for releases, each in the thread that asks; `stop` ends every wait at once.

    Args:
        kube: the cluster.
        releases: what may be asked for.
        tell: told what is waited for.
        patience: seconds for each release.

    Attributes:
        failure: why the first wait that failed did so; None while none has.
    """

    def __init__(
        self,
        kube: Kube,
        releases: Iterable[Release],
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
        """Returns when the release is ready for what needs it.

        Raises:
            InterruptedByUserError: `stop` was called.
            MlclusterError: it is not in time, or we may not ask; says which part, and what it said last.
        """
        try:
            self._wait(self._releases[release_id])
        except MlclusterError as error:
            self.failure = self.failure or error
            raise

    def stop(self) -> None:
        """Ends every wait that runs or begins."""
        self._stopped.set()

    def _wait(self, release: Release) -> None:
        began, told, pause = time.monotonic(), -_REPEAT_SECONDS, 0.1
        while awaited := unready(self._kube, release):
            waited = time.monotonic() - began
            if waited > self._patience:
                raise _too_late(release, awaited, self._patience)
            if waited - told >= _REPEAT_SECONDS:
                told = waited
                self._tell(f"  waiting for {release.name}: {awaited.what}: {awaited.said}")
            if self._stopped.wait(pause):
                doing = f"waiting for {release.name}"
                raise InterruptedByUserError(doing, f"interrupted; {awaited.what} did not answer yet", "run up again")
            pause = min(pause * 1.5, _LONGEST_PAUSE)
        if told >= 0:
            self._tell(f"  {release.name} answers after {time.monotonic() - began:.0f} s")


def unready(kube: Kube, release: Release) -> Awaited | None:
    """The first thing that is not ready; None when everything is.

    Raises:
        MlclusterError: we may not ask.
    """
    for name in release.crds:
        if said := _crd(kube, name):
            return Awaited(f"the definition {name}", said)
    for manifest in release.webhook_probes:
        if said := _webhook(kube, manifest):
            return Awaited(f"the webhook for {manifest['kind']} ({manifest['apiVersion']})", said)
    return None


def _crd(kube: Kube, name: str) -> str:
    """Why a custom resource definition cannot be used yet; "" when it can."""
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
    """An API server takes a moment to serve what it has Established."""
    version = next(entry["name"] for entry in spec["versions"] if entry.get("served", True))
    listing = kube.request("GET", f"/apis/{spec['group']}/{version}")
    names = {entry["name"] for entry in listing.get("resources") or []}
    return "" if spec["names"]["plural"] in names else "it is Established and not served yet"


def _webhook(kube: Kube, manifest: dict[str, Any]) -> str:
    """Why creating the object is not answered yet; "" when it is, with yes or no."""
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
    """Who is not known, or may not ask, will not be told more later."""
    if isinstance(error, Unauthorized) or (isinstance(error, Forbidden) and " cannot " in error.message):
        raise error


def _too_late(release: Release, awaited: Awaited, seconds: float) -> MlclusterError:
    where = f"kubectl -n {release.namespace}"
    return MlclusterError(
        f"waiting for {release.name}",
        f"{awaited.what} is not ready after {seconds:.0f} s; it said last: {awaited.said}",
        f"look at `{where} get pods,endpointslices` and the controller's log (`{where} logs deploy/NAME`), mend the "
        "cause and run up again; `mlcluster down` takes away what is there",
    )
