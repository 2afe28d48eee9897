"""What controllers inside the cluster made in the account: load balancers and volumes. It goes while they still run."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.progress import Progress

PATIENCE_SECONDS = 600.0
"""A load balancer takes one to three minutes to go, a volume seconds once its pod is gone."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long something is waited for.

    Attributes:
        seconds: then it is an error.
        pause: waits this many seconds before the next look.
        clock: seconds from any beginning.
    """

    seconds: float = PATIENCE_SECONDS
    pause: Callable[[float], object] = time.sleep
    clock: Callable[[], float] = time.monotonic


def delete_load_balancers(kube: Kube, progress: Progress, patience: Patience | None = None) -> None:
    """Deletes every Service of type LoadBalancer and waits until its controller has taken the balancer away.

    Raises:
        MlclusterError: it has not in time.
    """
    services = [
        service for service in kube.list("v1", "Service") if (service.get("spec") or {}).get("type") == "LoadBalancer"
    ]
    for service in services:
        kube.delete("v1", "Service", service["metadata"]["name"], service["metadata"]["namespace"])
    _wait("load balancers", services, lambda: kube.list("v1", "Service"), progress, patience or Patience())


def delete_volumes(kube: Kube, progress: Progress, patience: Patience | None = None) -> None:
    """Deletes claims whose volumes go with them, and waits until the CSI drivers have deleted the volumes.

    A volume that was never claimed is nobody's to delete: it is not waited for.

    Raises:
        MlclusterError: they have not in time.
    """
    volumes = [volume for volume in kube.list("v1", "PersistentVolume") if _goes_with_its_claim(volume)]
    for volume in volumes:
        claim = volume["spec"]["claimRef"]
        kube.delete("v1", "PersistentVolumeClaim", claim["name"], claim["namespace"])
    _wait("volumes", volumes, lambda: kube.list("v1", "PersistentVolume"), progress, patience or Patience())


def _goes_with_its_claim(volume: dict[str, Any]) -> bool:
    spec = volume.get("spec") or {}
    return spec.get("persistentVolumeReclaimPolicy") == "Delete" and bool((spec.get("claimRef") or {}).get("name"))


def _wait(
    what: str,
    gone: Iterable[dict[str, Any]],
    look: Callable[[], list[dict[str, Any]]],
    progress: Progress,
    patience: Patience,
) -> None:
    uids = {entry["metadata"]["uid"] for entry in gone}
    if not uids:
        return
    with progress.task(f"waiting for {what} to go") as task:
        deadline = patience.clock() + patience.seconds
        while left := [entry for entry in look() if entry["metadata"]["uid"] in uids]:
            names = ", ".join(entry["metadata"]["name"] for entry in left[:5])
            if patience.clock() > deadline:
                hint = "see its events; a pod may still use it, or its controller is gone. Then run down again"
                raise MlclusterError(f"waiting for {what} to go", f"{len(left)} are still there: {names}", hint)
            task.update(names)
            patience.pause(1)
