"""Destructive changes: the user approves each by name, with its contents shown."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mlcluster.deploy.contents import live_in, live_on, live_with
from mlcluster.engine.events import Change, Changes
from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.plan.eks.control_plane import CLUSTER
from mlcluster.plan.eks.node_groups import NODE_GROUP
from mlcluster.plan.eks.storage.efs import FILE_SYSTEM as EFS
from mlcluster.plan.eks.storage.lustre import FILE_SYSTEM as LUSTRE
from mlcluster.plan.eks.subnets import VPC

_CLOUD = {
    CLUSTER: "cluster",
    VPC: "network",
    EFS: "volume",
    LUSTRE: "volume",
}
"""Types of AWS resources that hold data or work of users -> the kind that `--allow-destroy` takes."""
_OF_POOLS = frozenset({"Node", "ResourceFlavor"})
"""Kinds of which a pool has several, or none; on an `existing` cluster a pool is its flavor."""
_VOLUMES = frozenset({"PersistentVolume", "PersistentVolumeClaim"})
_IN_USE = {"Release": "component", "CustomResourceDefinition": "definition"}
"""Kinds of the platform that may hold work of users -> the kind that `--allow-destroy` takes."""


@dataclass(frozen=True, slots=True)
class Destruction:
    """A resource that would be deleted: `kind/name` as `--allow-destroy` takes it, and its contents."""

    kind: str
    name: str
    live: tuple[str, ...]

    @property
    def key(self) -> str:
        """The argument of `--allow-destroy`."""
        return f"{self.kind}/{self.name}"


def destructions(kube: Kube | None, previews: Iterable[Changes]) -> list[Destruction]:
    """Return every namespace, pool, volume, network and cluster that the previews would delete or replace.

    Components and CRDs are included if users have objects that would stop or be deleted with them.

    Args:
        kube: None if there is no cluster yet.
    """
    found: dict[str, Destruction] = {}
    for one in (one for changes in previews for one in _destroyed(kube, changes)):
        found[one.key] = max(found.get(one.key, one), one, key=lambda each: len(each.live))  # a pool may have two
    return [found[key] for key in sorted(found)]


def _destroyed(kube: Kube | None, changes: Changes) -> Iterator[Destruction]:
    going = [change for change in changes.effective if change.op in {"delete", "replace"}]
    ids = {change.id for change in going}
    kept = {(one.identity.kind, one.identity.pool) for one in changes.items if one.id not in ids}
    for change in going:
        found = change.identity
        if found.kind in _OF_POOLS:
            # A pool that shrinks keeps nodes; with another topology it gets another flavor.
            if (found.kind, found.pool) not in kept:
                yield Destruction("pool", found.pool, ())
        elif found.kind == "NodePool":  # Karpenter drains and deletes its nodes, also if a new one takes its place
            yield Destruction("pool", found.pool, () if kube is None else tuple(live_on(kube, found.pool)))
        elif change.type == NODE_GROUP:
            yield Destruction("pool", found.pool, ())
        else:
            yield from _destroyed_with(kube, change)


def _destroyed_with(kube: Kube | None, change: Change) -> Iterator[Destruction]:
    """Yield the destruction of a resource that is not a part of a pool."""
    found = change.identity
    if found.kind == "Namespace":
        yield Destruction("namespace", found.name, () if kube is None else tuple(live_in(kube, found.name)))
    elif change.type in _CLOUD:
        yield Destruction(_CLOUD[change.type], found.name, ())
    elif found.kind in _VOLUMES:
        yield Destruction("volume", "/".join(filter(None, (found.namespace, found.name))), ())
    elif kube is not None and found.kind in _IN_USE and (used := live_with(kube, found.kind, found.name)):
        yield Destruction(_IN_USE[found.kind], found.name, tuple(used))


def refuse_unnamed(found: list[Destruction], allowed: Iterable[str]) -> None:
    """Refuse to continue unless the user named every destructive change.

    Raises:
        MlclusterError: lists the resources to delete, their contents, and the flags that allow it.
    """
    named = {entry.lower() for entry in allowed}
    unnamed = [one for one in found if one.key.lower() not in named]
    if not unnamed:
        return
    told = "; ".join(f"{one.key} with {', '.join(one.live) or 'nothing running in it'}" for one in unnamed)
    flags = " ".join(f"--allow-destroy {one.key}" for one in unnamed)
    raise MlclusterError("checking what would be destroyed", f"this would delete {told}", f"if you mean it: {flags}")
