"""Destructive changes: the user approves each by name, with its contents shown."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mlcluster.deploy.contents import live_in, live_on, live_with
from mlcluster.engine.events import Changes
from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube

VOLUMES = frozenset({"PersistentVolume", "PersistentVolumeClaim"})
CLOUD = {
    "NodeGroup": "pool",
    "Cluster": "cluster",
    "Vpc": "network",
    "FileSystem": "volume",
    "LustreFileSystem": "volume",
}
"""Types of AWS resources that hold data or work of users -> the kind that `--allow-destroy` takes."""
_CALLED = {"Release": "component", "CustomResourceDefinition": "definition"}
"""Types of the platform that may hold work of users -> the kind that `--allow-destroy` takes."""


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


def refuse_unnamed(found: list[Destruction], allowed: Iterable[str]) -> None:
    """Refuse to continue unless the user named every destructive change.

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


def _pool(identifier: str) -> str:
    return identifier.removeprefix("Node/").rpartition("-")[0]
