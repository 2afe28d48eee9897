"""Destructive changes are asked for by name, with what lives in them on the table."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from mlcluster.catalog.leaves import leaves_of, split_kind
from mlcluster.engine.events import Changes
from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.kube.controllers import DEFINITIONS, listed, served_version
from mlcluster.plan import names

VOLUMES = frozenset({"PersistentVolume", "PersistentVolumeClaim"})
CLOUD = {
    "NodeGroup": "pool",
    "Cluster": "cluster",
    "Vpc": "network",
    "FileSystem": "volume",
    "LustreFileSystem": "volume",
}
"""Types of the AWS stack that hold what somebody would miss, and what to call them."""
_CALLED = {"Release": "component", "CustomResourceDefinition": "definition"}
"""What takes work of users along, and what to call it."""
NODE_POOL = "karpenter.sh/nodepool"
"""The label that Karpenter gives the nodes of a NodePool."""

ENDED = frozenset({"Succeeded", "Failed"})
JOB_ENDED = frozenset({"Complete", "Failed"})
MOST_NAMES = 5


@dataclass(frozen=True, slots=True)
class Destruction:
    """One thing that would go: `kind/name` as `--allow-destroy` takes it, and what lives in it."""

    kind: str
    name: str
    live: tuple[str, ...]

    @property
    def key(self) -> str:
        """What to write after `--allow-destroy`."""
        return f"{self.kind}/{self.name}"


def destructions(kube: Kube | None, previews: Iterable[Changes]) -> list[Destruction]:
    """Every namespace, pool, volume, network and cluster that the previews would delete or replace.

    A component too, if there is anything that only its controller runs; a definition, if others have objects of it.

    Args:
        kube: None before there is a cluster, when nothing lives anywhere.
    """
    found: dict[str, Destruction] = {}
    for one in (one for changes in previews for one in _destroyed(kube, changes)):
        found[one.key] = max(found.get(one.key, one), one, key=lambda each: len(each.live))  # a pool: two objects
    return [found[key] for key in sorted(found)]


def _destroyed(kube: Kube | None, changes: Changes) -> Iterator[Destruction]:
    going = [change.id for change in changes.effective if change.op in {"delete", "replace"}]
    kept = {_pool(change.id) for change in changes.items if change.id not in going}
    flavors = {_flavor(change.id) for change in changes.items if change.id not in going} - {""}
    for identifier in going:
        kind, _, name = identifier.partition("/")
        if kind == "Namespace":
            yield Destruction("namespace", name, () if kube is None else tuple(live_in(kube, name)))
        elif kind in CLOUD:
            yield Destruction(CLOUD[kind], name, ())
        elif kind in VOLUMES:
            yield Destruction("volume", name, ())
        elif kind == "Node" and _pool(identifier) not in kept:
            yield Destruction("pool", _pool(identifier), ())
        elif kind == "ResourceFlavor" and _flavor(identifier) not in flavors:
            yield Destruction("pool", _flavor(identifier), ())  # on an existing cluster a pool is its flavor
        elif kind == "NodePool":  # Karpenter drains and deletes its nodes, also if a new one takes its place
            yield Destruction("pool", name, () if kube is None else tuple(live_on(kube, name)))
        elif kube is not None and kind in _CALLED and (used := live_with(kube, identifier)):
            yield Destruction(_CALLED[kind], name, tuple(used))


def _flavor(identifier: str) -> str:
    """The pool whose flavor this is, "" for anything else; with topology a flavor has more behind a dot."""
    kind, _, name = identifier.partition("/")
    return name.partition(".")[0] if kind == "ResourceFlavor" else ""


def live_in(kube: Kube, namespace: str) -> list[str]:
    """What runs or is stored in a namespace: "3 pods (a, b, c)", jobs, volume claims."""
    pods = [pod for pod in kube.list("v1", "Pod", namespace) if (pod.get("status") or {}).get("phase") not in ENDED]
    jobs = [job for job in kube.list("batch/v1", "Job", namespace) if not _ended(job)]
    claims = kube.list("v1", "PersistentVolumeClaim", namespace)
    return [
        _counted(what, found) for what, found in (("jobs", jobs), ("pods", pods), ("volume claims", claims)) if found
    ]


def live_on(kube: Kube, node_pool: str) -> list[str]:
    """Return what runs on the nodes of a Karpenter NodePool, without the pods of daemon sets."""
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
    """What users have made that the component's controller runs: it would be stranded, or go with its definition."""
    found = [(split_kind(kind)[1], listed(kube, *split_kind(kind))) for kind in leaves_of(release).workloads]
    return [_counted(f"{word} objects", objects) for word, objects in found if objects]


def objects_of(kube: Kube, definition: str) -> list[str]:
    """What others have made of a kind that is ours: it goes with its definition."""
    found = kube.get_object(*DEFINITIONS, definition)
    if found is None:
        return []
    kind = found["spec"]["names"]["kind"]
    objects = [one for one in listed(kube, served_version(found), kind) if not _is_ours(one)]
    return [_counted(f"{kind} objects", objects)] if objects else []


def live_with(kube: Kube, identifier: str) -> list[str]:
    """What users have that goes with this resource of the plan."""
    kind, _, name = identifier.partition("/")
    look = {"Namespace": live_in, "Release": workloads_of, "CustomResourceDefinition": objects_of}.get(kind)
    return [] if look is None else look(kube, name)


def refuse_unnamed(found: list[Destruction], allowed: Iterable[str]) -> None:
    """Stops unless every destruction was named.

    Raises:
        MlclusterError: lists what would go, what lives in it, and the flags that would allow it.
    """
    named = {entry.lower() for entry in allowed}
    unnamed = [one for one in found if one.key.lower() not in named]
    if not unnamed:
        return
    told = "; ".join(f"{one.key} with {', '.join(one.live) or 'nothing running in it'}" for one in unnamed)
    flags = " ".join(f"--allow-destroy {one.key}" for one in unnamed)
    raise MlclusterError("checking what would be destroyed", f"this would delete {told}", f"if you mean it: {flags}")


def _ended(job: dict[str, Any]) -> bool:
    conditions = (job.get("status") or {}).get("conditions") or []
    return any(entry.get("type") in JOB_ENDED and entry.get("status") == "True" for entry in conditions)


def _is_ours(item: dict[str, Any]) -> bool:
    return (item["metadata"].get("labels") or {}).get(names.MANAGED_BY) == names.MANAGER


def _pool(identifier: str) -> str:
    return identifier.removeprefix("Node/").rpartition("-")[0]


def _counted(what: str, found: list[dict[str, Any]]) -> str:
    told = [str(entry["metadata"]["name"]) for entry in found]
    more = ", ..." if len(told) > MOST_NAMES else ""
    return f"{len(told)} {what} ({', '.join(told[:MOST_NAMES])}{more})"
