"""CRDs of a lab's controllers: wait until the API server serves them."""

import time
from contextlib import suppress

from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.kube.errors import ApiError, Unreachable
from mlcluster.lab.controllers.adaptation import Manifest
from mlcluster.lab.lab_state import READY_SECONDS

_API, _KIND = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
FIELD_MANAGER = "mlcluster-lab"
_TOUCHED = "mlcluster.dev/touched"
_TOUCH_SECONDS = 2.0


def await_established(kube: Kube, names: list[str], seconds: float = READY_SECONDS) -> None:
    """Return once all of these CRDs are Established.

    An API server that was killed after it had accepted the names of a CRD, and before it had established it, does not
    continue after its restart: it queues a CRD for that only after an update (`updateCustomResourceDefinition` in
    apiextensions-apiserver v0.36.2, pkg/apiserver/customresource_handler.go; its informer repeats updates every five
    minutes). Therefore this function updates such CRDs, and reverts the update.

    Raises:
        MlclusterError: CRDs are not Established after `seconds`.
    """
    deadline = time.monotonic() + seconds
    touch_at = time.monotonic() + _TOUCH_SECONDS
    waiting = set(names)
    while waiting:
        found = {item["metadata"]["name"]: item for item in kube.list(_API, _KIND)}
        waiting -= {name for name, item in found.items() if _is(item, "Established")}
        if waiting and time.monotonic() > deadline:
            message = f"not established after {seconds:.0f} s: {', '.join(sorted(waiting))}"
            raise MlclusterError("applying a controller's CRDs", message)
        if waiting and time.monotonic() > touch_at:
            touch_at = time.monotonic() + _TOUCH_SECONDS
            _touch(kube, [name for name in sorted(waiting) if _is(found.get(name, {}), "NamesAccepted")])
        time.sleep(0.05 if waiting else 0)


def _touch(kube: Kube, names: list[str]) -> None:
    for name in names:
        for value in ("", None):
            changes = {"metadata": {"annotations": {_TOUCHED: value}}}
            with suppress(ApiError, Unreachable):  # the next round tries again, until the deadline
                kube.patch(_API, _KIND, name, changes, field_manager=FIELD_MANAGER)


def _is(crd: Manifest, condition: str) -> bool:
    found = (crd.get("status") or {}).get("conditions") or []
    return any(entry["type"] == condition and entry["status"] == "True" for entry in found)
