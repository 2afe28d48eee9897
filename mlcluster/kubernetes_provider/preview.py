"""Preview by a dry run of the API server: outputs, and changes that force a replacement."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from mlcluster.errors import MlclusterError
from mlcluster.kube.errors import ApiError
from mlcluster.kubernetes_provider.cluster import Cluster
from mlcluster.kubernetes_provider.diff import Change, blamed, changes, immutable, keep, parse
from mlcluster.kubernetes_provider.objects import refuse_foreign
from mlcluster.kubernetes_provider.shape import to_wire
from mlcluster.kubernetes_provider.state import manager, planned, previewed, uid
from mlcluster.kubernetes_provider.values import Path, has_unknown, plain

Object = dict[str, Any]

AUTONAMED = "pulumi.com/autonamed"
_IDENTITY: tuple[Path, ...] = (("kind",), ("metadata", "name"), ("metadata", "namespace"))


@dataclass
class Difference:
    """The effect of a change of inputs.

    Attributes:
        paths: the changed leaves.
        replaces: those of `paths` that require a new object.
        delete_first: whether the old object must be deleted first, because the new one has its name.
    """

    paths: list[tuple[Path, Change]] = field(default_factory=list)
    replaces: list[Path] = field(default_factory=list)
    delete_first: bool = False


def difference(
    cluster: Cluster | None, before: Object, old_inputs: Object, inputs: Object, ignored: Iterable[str] = ()
) -> Difference:
    """Compare old and new inputs, with a request to the server only if they differ.

    Args:
        cluster: the cluster, None if it does not exist yet.
        before: the state of the object.
        old_inputs: the inputs of the last run or refresh.
        inputs: the present inputs of the program.
        ignored: property paths of `ignoreChanges`.
    """
    old, new = plain(old_inputs), plain(inputs)
    for path in ignored:
        new = keep(old, new, parse(path))
    found = Difference(list(changes(old, new)))
    if not found.paths:
        return found
    renamed = [path for path, _ in found.paths if path in _IDENTITY or _other_group(path, old, new)]
    found.replaces = renamed
    if not renamed and cluster is not None and not has_unknown(new):
        found.replaces = _refused_fields(cluster, before, new, found.paths)
    found.delete_first = bool(found.replaces) and not renamed and not _autonamed(new)
    return found


def _other_group(path: Path, old: Object, new: Object) -> bool:
    if path != ("apiVersion",):
        return False
    before, after = str(old.get("apiVersion")), str(new.get("apiVersion"))
    return before.rpartition("/")[0] != after.rpartition("/")[0]


def _refused_fields(cluster: Cluster, before: Object, new: Object, paths: list[tuple[Path, Change]]) -> list[Path]:
    try:
        cluster.dry_run(to_wire(new), manager(before))
    except ApiError as error:
        # Every other rejection is an error, which the preview of the update reports.
        if error.status == 422 and immutable(error.message):
            return blamed([path for path, _ in paths], [cause.get("field", "") for cause in error.causes])
    except MlclusterError:
        pass
    return []


def _autonamed(inputs: Object) -> bool:
    metadata = inputs.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return isinstance(annotations, dict) and annotations.get(AUTONAMED) == "true"


def create(cluster: Cluster | None, inputs: Object, recorded_uid: str, urn: str) -> tuple[Object, str]:
    """Return the outputs of a planned object, and why there was no dry run ("" if there was one).

    Args:
        cluster: the cluster, None if it does not exist yet.
        inputs: the inputs, with secret marks.
        recorded_uid: UID of the object with this URN in the state, which a replacement deletes.
        urn: used for the name in the dry run of a replacement.

    Raises:
        MlclusterError: the real run would fail too: an unmanaged object has the name, or a field is invalid.
    """
    wanted = plain(inputs)
    if cluster is None or has_unknown(wanted):
        return planned(inputs), ""
    manifest = to_wire(wanted)
    try:
        live = cluster.live(manifest)
        if live is not None and live["metadata"]["uid"] == recorded_uid:
            return _replacement(cluster, manifest, inputs, urn), ""
        if live is not None:
            refuse_foreign(manifest, live)
        return previewed(cluster.dry_run(manifest), inputs, new=True), ""
    except ApiError as error:
        if error.status not in {403, 404}:
            raise
        return planned(inputs), error.message if error.status == 403 else ""


def _replacement(cluster: Cluster, manifest: Object, inputs: Object, urn: str) -> Object:
    # The old object still has the name, so the dry run uses another one.
    name = f"try-{hashlib.sha256(urn.encode()).hexdigest()[:12]}"
    try:
        would = cluster.dry_run({**manifest, "metadata": {**manifest["metadata"], "name": name}})
    except ApiError as error:
        if any(cause.get("field") == "metadata.name" for cause in error.causes):
            return planned(inputs)  # kinds whose name depends on their content, such as CRDs
        raise
    would["metadata"]["name"] = manifest["metadata"]["name"]
    return previewed(would, inputs, new=True)


def update(cluster: Cluster | None, before: Object, inputs: Object) -> tuple[Object, str]:
    """Return the outputs of a planned change, and why there was no dry run ("" if there was one)."""
    wanted = plain(inputs)
    if cluster is None or has_unknown(wanted):
        return planned(inputs, before), ""
    try:
        return previewed(cluster.dry_run(to_wire(wanted), manager(before)), inputs, new=False), ""
    except ApiError as error:
        if error.status not in {403, 404}:
            raise
        return planned(inputs, before), error.message if error.status == 403 else ""


def recorded_uid(before: Object) -> str:
    """Return the UID in a state."""
    return uid(before)
