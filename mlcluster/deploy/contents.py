"""Work and data of users in a namespace, on a pool, and of a component: they would be deleted with it."""

from typing import Any

from mlcluster.catalog.residue import residue_of, split_kind
from mlcluster.kube.client import Kube
from mlcluster.kube.controllers import CRD_KIND, list_if_served, served_version
from mlcluster.plan import names

NODE_POOL = "karpenter.sh/nodepool"
"""The label that Karpenter gives the nodes of a NodePool."""

ENDED = frozenset({"Succeeded", "Failed"})
JOB_ENDED = frozenset({"Complete", "Failed"})
MOST_NAMES = 5


def live_in(kube: Kube, namespace: str) -> list[str]:
    """Return the workloads and stored objects of a namespace: "3 pods (a, b, c)", jobs, volume claims."""
    pods = [pod for pod in kube.list("v1", "Pod", namespace) if (pod.get("status") or {}).get("phase") not in ENDED]
    jobs = [job for job in kube.list("batch/v1", "Job", namespace) if not _ended(job)]
    claims = kube.list("v1", "PersistentVolumeClaim", namespace)
    return [
        _counted(what, found) for what, found in (("jobs", jobs), ("pods", pods), ("volume claims", claims)) if found
    ]


def live_on(kube: Kube, node_pool: str) -> list[str]:
    """Return the pods on the nodes of a Karpenter NodePool, without those of daemon sets."""
    nodes = {node["metadata"]["name"] for node in kube.list("v1", "Node", label_selector=f"{NODE_POOL}={node_pool}")}
    pods = [
        pod
        for pod in (kube.list("v1", "Pod") if nodes else [])
        if (pod.get("spec") or {}).get("nodeName") in nodes
        and (pod.get("status") or {}).get("phase") not in ENDED
        and not any(owner["kind"] == "DaemonSet" for owner in pod["metadata"].get("ownerReferences") or [])
    ]
    return [_counted("pods", pods)] if pods else []


def workloads_of(kube: Kube, release: str) -> list[str]:
    """Return the workloads of a component's controller: without it they stop, or are deleted with their CRD."""
    found = [(split_kind(kind)[1], list_if_served(kube, *split_kind(kind))) for kind in residue_of(release).workloads]
    return [_counted(f"{word} objects", objects) for word, objects in found if objects]


def objects_of(kube: Kube, crd: str) -> list[str]:
    """Return the objects of a managed CRD that mlcluster does not manage: they are deleted with the CRD."""
    found = kube.get_object(*CRD_KIND, crd)
    if found is None:
        return []
    kind = found["spec"]["names"]["kind"]
    objects = [one for one in list_if_served(kube, served_version(found), kind) if not _is_managed(one)]
    return [_counted(f"{kind} objects", objects)] if objects else []


def live_with(kube: Kube, kind: str, name: str) -> list[str]:
    """Return the work and data of users that would be deleted with a namespace, Helm release or CRD."""
    look = {"Namespace": live_in, "Release": workloads_of, "CustomResourceDefinition": objects_of}.get(kind)
    return [] if look is None else look(kube, name)


def _ended(job: dict[str, Any]) -> bool:
    conditions = (job.get("status") or {}).get("conditions") or []
    return any(entry.get("type") in JOB_ENDED and entry.get("status") == "True" for entry in conditions)


def _is_managed(item: dict[str, Any]) -> bool:
    return (item["metadata"].get("labels") or {}).get(names.MANAGED_BY) == names.MANAGER


def _counted(what: str, found: list[dict[str, Any]]) -> str:
    told = [str(entry["metadata"]["name"]) for entry in found]
    more = ", ..." if len(told) > MOST_NAMES else ""
    return f"{len(told)} {what} ({', '.join(told[:MOST_NAMES])}{more})"
