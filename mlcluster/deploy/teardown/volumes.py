"""Load balancers and volumes that controllers in the cluster created: they are deleted while these still run."""

from collections.abc import Callable, Iterable
from typing import Any

from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.progress import Progress
from mlcluster.waiting import Clock, wait_while

PATIENCE_SECONDS = 600.0
"""The deletion of a load balancer takes one to three minutes; of a volume seconds, once its pod is gone."""


def delete_load_balancers(kube: Kube, progress: Progress, clock: Clock | None = None) -> None:
    """Delete every Service of type LoadBalancer and wait until its controller has deleted the load balancer.

    Raises:
        MlclusterError: it has not in time.
    """
    services = [
        service for service in kube.list("v1", "Service") if (service.get("spec") or {}).get("type") == "LoadBalancer"
    ]
    for service in services:
        kube.delete("v1", "Service", service["metadata"]["name"], service["metadata"]["namespace"])
    _wait("load balancers", services, lambda: kube.list("v1", "Service"), progress, clock)


def delete_volumes(kube: Kube, progress: Progress, clock: Clock | None = None) -> None:
    """Delete claims of volumes with the reclaim policy Delete, and wait until the CSI drivers have deleted these.

    A volume that was never claimed has no owner that would delete it, so it is ignored.

    Raises:
        MlclusterError: they have not in time.
    """
    volumes = [volume for volume in kube.list("v1", "PersistentVolume") if _goes_with_its_claim(volume)]
    for volume in volumes:
        claim = volume["spec"]["claimRef"]
        kube.delete("v1", "PersistentVolumeClaim", claim["name"], claim["namespace"])
    _wait("volumes", volumes, lambda: kube.list("v1", "PersistentVolume"), progress, clock)


def _goes_with_its_claim(volume: dict[str, Any]) -> bool:
    spec = volume.get("spec") or {}
    return spec.get("persistentVolumeReclaimPolicy") == "Delete" and bool((spec.get("claimRef") or {}).get("name"))


def _wait(
    what: str,
    gone: Iterable[dict[str, Any]],
    look: Callable[[], list[dict[str, Any]]],
    progress: Progress,
    clock: Clock | None,
) -> None:
    uids = {entry["metadata"]["uid"] for entry in gone}
    if not uids:
        return
    with progress.task(f"waiting for the deletion of {what}") as task:
        left = wait_while(
            lambda: [entry for entry in look() if entry["metadata"]["uid"] in uids],
            PATIENCE_SECONDS,
            lambda waiting: task.update(_named(waiting)),
            pause=1,
            clock=clock,
        )
        if left:
            hint = "See its events: a pod may still use it, or its controller is gone. Then run down again."
            happened = f"{len(left)} are still there: {_named(left)}"
            raise MlclusterError(f"waiting for the deletion of {what}", happened, hint)


def _named(objects: list[dict[str, Any]]) -> str:
    return ", ".join(entry["metadata"]["name"] for entry in objects[:5])
