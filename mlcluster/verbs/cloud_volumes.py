"""What controllers inside the cluster made in the account: load balancers and volumes. It goes while they still run."""

import time
from collections.abc import Callable, Iterable
from typing import Any

from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.progress import Progress

PATIENCE_SECONDS = 600.0
"""A load balancer takes one to three minutes to go, a volume seconds once its pod is gone."""


def delete_load_balancers(kube: Kube, progress: Progress) -> None:
    """Deletes every Service of type LoadBalancer and waits until its controller has taken the balancer away."""
    services = [
        service for service in kube.list("v1", "Service") if (service.get("spec") or {}).get("type") == "LoadBalancer"
    ]
    for service in services:
        kube.delete("v1", "Service", service["metadata"]["name"], service["metadata"]["namespace"])
    _wait("load balancers", services, lambda: kube.list("v1", "Service"), progress)


def delete_volumes(kube: Kube, progress: Progress) -> None:
    """Deletes claims whose volumes go with them, and waits until the CSI drivers have deleted the volumes."""
    volumes = [
        volume
        for volume in kube.list("v1", "PersistentVolume")
        if (volume.get("spec") or {}).get("persistentVolumeReclaimPolicy") == "Delete"
    ]
    for volume in volumes:
        claim = volume["spec"].get("claimRef") or {}
        if claim.get("name"):
            kube.delete("v1", "PersistentVolumeClaim", claim["name"], claim["namespace"])
    _wait("volumes", volumes, lambda: kube.list("v1", "PersistentVolume"), progress)


def _wait(
    what: str, gone: Iterable[dict[str, Any]], look: Callable[[], list[dict[str, Any]]], progress: Progress
) -> None:
    uids = {entry["metadata"]["uid"] for entry in gone}
    if not uids:
        return
    with progress.task(f"waiting for {what} to go") as task:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while left := [entry for entry in look() if entry["metadata"]["uid"] in uids]:
            names = ", ".join(entry["metadata"]["name"] for entry in left[:5])
            if time.monotonic() > deadline:
                hint = "see its events; a pod may still use it, or its controller is gone. Then run down again"
                raise MlclusterError(f"waiting for {what} to go", f"{len(left)} are still there: {names}", hint)
            task.update(names)
            time.sleep(1)
