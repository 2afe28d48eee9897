"""After releases are uninstalled: what Helm leaves behind goes too, unless somebody else has a use for it."""

import time
from collections.abc import Iterable
from contextlib import nullcontext

from mlcluster.catalog.leaves import leaves_of
from mlcluster.kube.client import Kube, Object
from mlcluster.kube.controllers import listed, owner_of
from mlcluster.kube.errors import ApiError
from mlcluster.progress import Progress
from mlcluster.verbs.broken import remove_broken
from mlcluster.verbs.emptying import Installed, installed_releases
from mlcluster.verbs.found_before import DEFINITIONS, found_before, noted_releases
from mlcluster.verbs.stage import Stage

DEFINITION_SECONDS = 60.0
_PAUSE = 0.2
_MOST_NAMES = 3


def clean_up(kube: Kube, releases: Iterable[Installed], progress: Progress, *, nodes: bool) -> list[str]:
    """Removes what uninstalled releases of ours have left.

    Args:
        kube: the cluster.
        releases: that are not there any more.
        progress: told what is removed.
        nodes: the nodes stay, so labels are taken off them.

    Returns:
        What is kept, each with its reason.
    """
    kept: list[str] = []
    for release in releases:
        remove_broken(kube, release.name, release.namespace, release.leaves, progress)
        kept += _definitions(kube, release, progress)
        if nodes:
            kept += _node_labels(kube, release, progress)
    return kept


def ever_installed(kube: Kube, installed: Iterable[Installed]) -> list[Installed]:
    """The releases that a stack holds, and those that an interrupted run has uninstalled before."""
    found = {release.name: release for release in installed}
    for name, namespace in noted_releases(kube).items():
        found.setdefault(name, Installed(name, namespace, leaves_of(name)))
    return list(found.values())


def clean_up_removed(
    kube: Kube, before: Iterable[Installed], platform: Stage, progress: Progress, *, nodes: bool
) -> None:
    """The same after an `up` that has uninstalled some of the releases that were there before; tells what is kept."""
    names = {release.name for release in installed_releases(platform)}
    for kept in clean_up(kube, [release for release in before if release.name not in names], progress, nodes=nodes):
        progress.say(f"  kept: {kept}")


def _definitions(kube: Kube, release: Installed, progress: Progress) -> list[str]:
    before = found_before(kube, release.name)
    kept, going = list[str](), list[str]()
    for name in release.leaves.definitions:
        found = kube.get_object(*DEFINITIONS, name)
        if found is None:
            continue
        reason = "it was there before" if before is not None and name in before.definitions else ""
        reason = reason or (
            "nobody noted whether it was there before" if before is None else _used(kube, found, release)
        )
        if reason:
            kept.append(f"CustomResourceDefinition/{name}: {reason}")
            continue
        kube.delete(*DEFINITIONS, name, uid=found["metadata"]["uid"])
        going.append(name)
        progress.say(f"removed the definition {name}, which {release.name} left behind: no object of it is left")
    return kept + [f"CustomResourceDefinition/{name}: it is still going" for name in _wait_gone(kube, going, progress)]


def _wait_gone(kube: Kube, names: list[str], progress: Progress) -> list[str]:
    """Names of the definitions that are still there when patience ends; the server looks for objects of each first."""
    deadline = time.monotonic() + DEFINITION_SECONDS
    with progress.task("waiting for definitions to go") if names else nullcontext():
        while left := [name for name in names if kube.get_object(*DEFINITIONS, name) is not None]:
            if time.monotonic() > deadline:
                return left
            time.sleep(_PAUSE)
    return []


def _used(kube: Kube, definition: Object, release: Installed) -> str:
    """Why a definition of a release that is gone is still needed; "" when it is not."""
    owner, spec = owner_of(definition), definition["spec"]
    if owner and owner != f"{release.namespace}/{release.name}":
        return f"it belongs to the release {owner}"
    version = next(entry["name"] for entry in spec["versions"] if entry.get("served", True))
    kind = spec["names"]["kind"]
    try:
        objects = listed(kube, f"{spec['group']}/{version}", kind)
    except ApiError as error:
        return f"its objects cannot be listed: {error.message}"
    if not objects:
        return ""
    told = ["/".join(filter(None, (one["metadata"].get("namespace"), one["metadata"]["name"]))) for one in objects]
    more = ", ..." if len(told) > _MOST_NAMES else ""
    return f"{len(told)} of its objects are there: {', '.join(told[:_MOST_NAMES])}{more}"


def _node_labels(kube: Kube, release: Installed, progress: Progress) -> list[str]:
    prefixes, before = release.leaves.node_label_prefixes, found_before(kube, release.name)
    if not prefixes:
        return []
    changed, keys = 0, set[str]()
    for node in kube.list("v1", "Node"):
        labels = node["metadata"].get("labels") or {}
        left = {key for key in labels if key.startswith(prefixes)} - (before.node_labels if before else set())
        if left and before is None:
            return [f"node labels {', '.join(prefixes)}*: nobody noted which were there before"]
        if left:
            kube.patch("v1", "Node", node["metadata"]["name"], {"metadata": {"labels": dict.fromkeys(left)}})
            changed, keys = changed + 1, keys | left
    if changed:
        progress.say(f"took {len(keys)} labels ({', '.join(prefixes)}*) of {release.name} off {changed} nodes")
    return []
