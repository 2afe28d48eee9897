"""Residue of uninstalled Helm releases: CRDs, webhooks and node labels, unless another party uses them."""

from collections.abc import Iterable, Mapping
from contextlib import nullcontext

from mlcluster.catalog.residue import residue_of
from mlcluster.deploy.ownership.baseline import found_before, noted_releases
from mlcluster.deploy.removal.dead_endpoints import remove_broken
from mlcluster.deploy.removal.namespaces import Installed, installed_releases
from mlcluster.deploy.session.stack import Stack
from mlcluster.kube.client import Kube, Object
from mlcluster.kube.controllers import CRD_KIND, list_if_served, owner_of, served_version, state_of
from mlcluster.kube.errors import ApiError
from mlcluster.progress import Progress
from mlcluster.waiting import wait_while

DEFINITION_SECONDS = 60.0
_PAUSE = 0.2
_MOST_NAMES = 3


def clean_up(
    kube: Kube, releases: Iterable[Installed], progress: Progress, *, nodes: bool, staying: Iterable[Installed] = ()
) -> list[str]:
    """Remove the residue of uninstalled releases, unless another party has installed the same component since.

    Args:
        kube: the cluster.
        releases: that are not there any more.
        progress: reports the removed objects.
        nodes: the nodes stay, so labels are taken off them.
        staying: managed releases that are still there; some share CRDs with an uninstalled one.

    Returns:
        The objects that are kept, each with its reason.
    """
    kept: list[str] = []
    shared = {name: one.name for one in staying for name in one.residue.crds}
    for release in releases:
        remove_broken(kube, release.name, release.namespace, release.residue, progress)
        if _runs_again(kube, release):
            kept.append(f"the residue of {release.name}: another party runs it in {release.namespace}")
            continue
        kept += _crds(kube, release, shared, progress)
        if nodes:
            kept += _node_labels(kube, release, progress)
    return kept


def ever_installed(kube: Kube, installed: Iterable[Installed]) -> list[Installed]:
    """Return the releases that a stack holds, and those that an interrupted run uninstalled."""
    found = {release.name: release for release in installed}
    for name, namespace in noted_releases(kube).items():
        found.setdefault(name, Installed(name, namespace, residue_of(name)))
    return list(found.values())


def clean_up_removed(
    kube: Kube, before: Iterable[Installed], platform: Stack, progress: Progress, *, nodes: bool
) -> None:
    """Remove the residue of releases that an `up` uninstalled; report those that are kept."""
    staying = installed_releases(platform)
    names = {release.name for release in staying}
    removed = [release for release in before if release.name not in names]
    for kept in clean_up(kube, removed, progress, nodes=nodes, staying=staying):
        progress.say(f"  kept: {kept}")


def _runs_again(kube: Kube, release: Installed) -> bool:
    """Return whether another party installed the release where it was planned."""
    residue = bool(release.residue.crds or release.residue.node_label_prefixes)
    return residue and state_of(kube, release.namespace, release.name) != "gone"


def _crds(kube: Kube, release: Installed, shared: Mapping[str, str], progress: Progress) -> list[str]:
    before = found_before(kube, release.name)
    kept, going = list[str](), list[str]()
    for name in release.residue.crds:
        found = kube.get_object(*CRD_KIND, name)
        if found is None:
            continue
        if before is None:
            reason = "no record tells whether it was there before"
        elif name in before.crds:
            reason = "it was there before"
        else:
            reason = f"{shared[name]} has it too" if name in shared else _used(kube, found, release)
        if reason:
            kept.append(f"CustomResourceDefinition/{name}: {reason}")
            continue
        kube.delete(*CRD_KIND, name, uid=found["metadata"]["uid"])
        going.append(name)
        progress.say(f"removed the CRD {name}, which {release.name} left behind: it has no objects")
    left = _wait_gone(kube, going, progress)
    return kept + [f"CustomResourceDefinition/{name}: it is still being deleted" for name in left]


def _wait_gone(kube: Kube, names: list[str], progress: Progress) -> list[str]:
    """Return the CRDs that are still there at the end of the wait; the API server deletes the objects of each first."""
    with progress.task("waiting for the deletion of CRDs") if names else nullcontext():
        return wait_while(
            lambda: [name for name in names if kube.get_object(*CRD_KIND, name) is not None],
            DEFINITION_SECONDS,
            pause=_PAUSE,
        )


def _used(kube: Kube, crd: Object, release: Installed) -> str:
    """Return why the CRD of an uninstalled release is still needed; "" when it is not."""
    owner, kind = owner_of(crd), crd["spec"]["names"]["kind"]
    if owner and owner != f"{release.namespace}/{release.name}":
        return f"it belongs to the release {owner}"
    try:
        objects = list_if_served(kube, served_version(crd), kind)
    except ApiError as error:
        return f"its objects cannot be listed: {error.message}"
    if not objects:
        return ""
    told = ["/".join(filter(None, (one["metadata"].get("namespace"), one["metadata"]["name"]))) for one in objects]
    more = ", ..." if len(told) > _MOST_NAMES else ""
    return f"{len(told)} of its objects are there: {', '.join(told[:_MOST_NAMES])}{more}"


def _node_labels(kube: Kube, release: Installed, progress: Progress) -> list[str]:
    prefixes, before = release.residue.node_label_prefixes, found_before(kube, release.name)
    if not prefixes:
        return []
    changed, keys = 0, set[str]()
    for node in kube.list("v1", "Node"):
        labels = node["metadata"].get("labels") or {}
        left = {key for key in labels if key.startswith(prefixes)} - (before.node_labels if before else set())
        if left and before is None:
            return [f"node labels {', '.join(prefixes)}*: no record tells which were there before"]
        if left:
            kube.patch("v1", "Node", node["metadata"]["name"], {"metadata": {"labels": dict.fromkeys(left)}})
            changed, keys = changed + 1, keys | left
    if changed:
        progress.say(f"removed {len(keys)} labels ({', '.join(prefixes)}*) of {release.name} from {changed} nodes")
    return []
