"""Destructive changes are asked for by name, with what lives in them on the table."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mlcluster.catalog.leaves import leaves_of, split_kind
from mlcluster.engine.events import Changes
from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.kube.controllers import listed

VOLUMES = frozenset({"PersistentVolume", "PersistentVolumeClaim"})
CLOUD = {
    "NodeGroup": "pool",
    "Cluster": "cluster",
    "Vpc": "network",
    "FileSystem": "volume",
    "LustreFileSystem": "volume",
}
"""Types of the AWS stack that hold what somebody would miss, and what to call them."""
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

    A component too, if there is anything that only its controller runs.

    Args:
        kube: None before there is a cluster, when nothing lives anywhere.
    """
    made: list[Destruction] = []
    for changes in previews:
        going = [change.id for change in changes.effective if change.op in {"delete", "replace"}]
        kept = {_pool(change.id) for change in changes.items if change.id not in going}
        flavors = {_flavor(change.id) for change in changes.items if change.id not in going} - {""}
        for identifier in going:
            kind, _, rest = identifier.partition("/")
            if kind == "Namespace":
                made.append(Destruction("namespace", rest, () if kube is None else tuple(live_in(kube, rest))))
            elif kind in CLOUD:
                made.append(Destruction(CLOUD[kind], rest, ()))
            elif kind == "Release" and kube is not None and (used := workloads_of(kube, rest)):
                made.append(Destruction("component", rest, tuple(used)))
            elif kind in VOLUMES:
                made.append(Destruction("volume", rest, ()))
            elif kind == "Node" and _pool(identifier) not in kept:
                made.append(Destruction("pool", _pool(identifier), ()))
            elif kind == "ResourceFlavor" and _flavor(identifier) not in flavors:
                made.append(Destruction("pool", _flavor(identifier), ()))  # on an existing cluster a pool is its flavor
    return sorted(set(made), key=lambda one: one.key)


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


def workloads_of(kube: Kube, release: str) -> list[str]:
    """What users have made that the component's controller runs: it would be stranded, or go with its definition."""
    found = [(split_kind(kind)[1], listed(kube, *split_kind(kind))) for kind in leaves_of(release).workloads]
    return [_counted(f"{word} objects", objects) for word, objects in found if objects]


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


def _pool(identifier: str) -> str:
    return identifier.removeprefix("Node/").rpartition("-")[0]


def _counted(what: str, found: list[dict[str, Any]]) -> str:
    names = [str(entry["metadata"]["name"]) for entry in found]
    more = ", ..." if len(names) > MOST_NAMES else ""
    return f"{len(names)} {what} ({', '.join(names[:MOST_NAMES])}{more})"
