"""What is special about taking an `eks` cluster down: what controllers made in the account, what is kept, what is left.

Order (handbook components.md 11): load balancers while their controller runs, the platform with its namespaces, volumes
while their CSI driver runs, then everything in AWS, then a search for what nobody took away.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.progress import Progress
from mlcluster.spec.eks import EksTarget
from mlcluster.verbs.reading import Reading
from mlcluster.verbs.stage import Stage

PATIENCE_SECONDS = 600.0
"""A load balancer takes one to three minutes to go, a volume seconds once its pod is gone."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Something that `down` leaves on purpose: the plan's id, and the cloud's."""

    plan_id: str
    id: str


def refuse_protected(reading: Reading, outputs: Mapping[str, Any]) -> None:
    """Stops while the control plane is protected against deletion.

    Raises:
        MlclusterError: it is; says how to lift it.
    """
    if outputs.get("deletionProtection"):
        raise MlclusterError(
            f"taking {reading.spec.metadata.name} down",
            "its control plane is protected against deletion",
            "set target.deletionProtection: false, run `mlcluster up`, then down again",
        )


def kept_by(reading: Reading, stage: Stage) -> list[Kept]:
    """What the state holds and `down` keeps, as the plan marks it."""
    retained = {entry.id for entry in reading.plan.resources if entry.retained}
    held = stage.engine.resources() if stage.engine.exists() else []
    return [Kept(entry.plan_id, entry.id) for entry in held if entry.plan_id in retained]


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


def _wait(what: str, gone: Iterable[dict[str, Any]], look: Any, progress: Progress) -> None:
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


def vpc_of(reading: Reading, stage: Stage) -> str | None:
    """The ID of the VPC that we made, None where the spec names one or none was made."""
    target = reading.spec.target
    if not isinstance(target, EksTarget) or target.network.vpc_id:
        return None
    held = stage.engine.resources() if stage.engine.exists() else []
    return next((entry.id for entry in held if entry.plan_id.startswith("Vpc/")), None)
