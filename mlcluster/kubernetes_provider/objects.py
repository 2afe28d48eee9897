"""Creation, update, read and deletion of one Kubernetes object."""

from typing import Any, NamedTuple

from mlcluster.errors import MlclusterError
from mlcluster.kube.added_fields import added_fields
from mlcluster.kube.errors import ApiError
from mlcluster.kubernetes_provider.cluster import Cluster, NotReady, Warn, applied_by
from mlcluster.kubernetes_provider.ownership import belongs_to, describe, identity, ours, owner
from mlcluster.kubernetes_provider.ready import skips_await
from mlcluster.kubernetes_provider.secrecy import seal, seal_secret_object
from mlcluster.kubernetes_provider.shape import (
    at,
    cut,
    from_wire,
    put,
    removed,
    status_drift,
    to_sdk,
    to_wire,
    wanted_of,
    without_noise,
)
from mlcluster.kubernetes_provider.state import manager, outputs, recorded_owner, uid
from mlcluster.kubernetes_provider.values import plain

Object = dict[str, Any]

_PROPAGATION = "pulumi.com/deletionPropagationPolicy"


class InitFailed(Exception):  # noqa: N818 - the engine's term
    """The object exists and stays in the state, but is not ready."""

    def __init__(self, reason: str, identifier: str, state: Object, inputs: Object) -> None:
        super().__init__(reason)
        self.reason, self.identifier, self.state, self.inputs = reason, identifier, state, inputs


class Found(NamedTuple):
    """A live object in the form of a refresh response."""

    state: Object
    inputs: Object


def create(cluster: Cluster, inputs: Object, seconds: float) -> tuple[str, Object]:
    """Create the object, or continue with a managed one after a killed run; return its id and state.

    Raises:
        MlclusterError: an unmanaged object has its name, or the server rejects it.
        InitFailed: it was created but is not ready.
    """
    manifest = to_wire(plain(inputs))
    live = cluster.live(manifest)
    if live is not None and live["metadata"].get("deletionTimestamp"):
        cluster.wait_deleting(live)
        live = None
    if live is not None:
        live = _take_up(cluster, manifest, live)
    elif "status" in manifest:
        live = cluster.create_with_status(manifest)
    else:
        live = cluster.apply(manifest)
    return _ready_state(cluster, live, inputs, None, seconds)


def _take_up(cluster: Cluster, manifest: Object, live: Object) -> Object:
    refuse_foreign(manifest, live)
    applied = cluster.apply_exactly(_only(manifest, live["metadata"]["uid"]))
    return cluster.apply_status(manifest) if "status" in manifest else applied


def refuse_foreign(manifest: Object, live: Object) -> None:
    """Raise an error if the live object with this name is unmanaged."""
    if not ours(live, owner(manifest)):
        hint = "Delete it, change the name in the program, or add the cluster's labels if no other tool needs it."
        raise MlclusterError(describe(live), f"already exists and belongs to {belongs_to(live)}", hint)


def update(cluster: Cluster, before: Object, old_inputs: Object, inputs: Object, seconds: float) -> Object:
    """Apply changed inputs to exactly the object in the state, and return its new state.

    Raises:
        MlclusterError: the server rejects the change, or another object has the name.
        InitFailed: the object was changed but is not ready.
    """
    manifest = to_wire(plain(inputs))
    try:
        live = cluster.apply_exactly(_only(manifest, uid(before)), manager(before))
    except ApiError as error:
        if not _other_uid(error):
            raise
        return create(cluster, inputs, seconds)[1]  # deleted or replaced: the rules of a new object apply
    old_status = plain(old_inputs).get("status")
    if "status" in manifest and manifest["status"] != old_status:
        live = cluster.apply_status(manifest, removed(old_status, manifest["status"]))
    return _ready_state(cluster, live, inputs, before, seconds)[1]


def _only(manifest: Object, identity_of: str) -> Object:
    # The server rejects an apply with another UID than that of the live object, which acts as a precondition.
    return {**manifest, "metadata": {**manifest["metadata"], "uid": identity_of}} if identity_of else manifest


def _other_uid(error: ApiError) -> bool:
    absent = error.status == 409 and "uid mismatch" in error.message
    return absent or (error.status == 422 and any(cause.get("field") == "metadata.uid" for cause in error.causes))


def _ready_state(
    cluster: Cluster, live: Object, inputs: Object, before: Object | None, seconds: float
) -> tuple[str, Object]:
    identifier = identity(live)
    try:
        live = cluster.wait_ready(live, seconds)
    except NotReady as waited:
        reason = f"{describe(live)} exists but is not ready: {waited.reason}"
        raise InitFailed(reason, identifier, outputs(waited.live, inputs, before), inputs) from None
    return identifier, outputs(live, inputs, before)


def read(cluster: Cluster, identifier: str, inputs: Object, before: Object) -> Found | None:
    """Return the live object for a refresh or an import; None if it was deleted, or is unmanaged now.

    Raises:
        InitFailed: it exists and is not ready.
    """
    wanted = plain(inputs)
    manifest = _named(to_wire(wanted or plain(before)), identifier)
    live = cluster.live(manifest)
    if live is None or _replaced_by_another(live, before):
        return None
    found = _drifted(cluster, live, manifest, wanted, manager(before)) if wanted else wanted_of(live)
    found = seal_secret_object(seal(found, inputs))
    state = outputs(live, found, before)
    reason = cluster.not_ready_now(live)
    if reason and wanted:
        raise InitFailed(f"{describe(live)} is not ready: {reason}", identifier, state, found)
    return Found(state, found)


def _named(manifest: Object, identifier: str) -> Object:
    namespace, _, name = identifier.rpartition("/")
    place = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {**manifest, "metadata": {**(manifest.get("metadata") or {}), **place}}


def _replaced_by_another(live: Object, before: Object) -> bool:
    recorded, cluster_name = uid(before), recorded_owner(before)
    return bool(recorded and cluster_name) and live["metadata"]["uid"] != recorded and not ours(live, cluster_name)


def _drifted(cluster: Cluster, live: Object, manifest: Object, wanted: Object, applier: str) -> Object:
    main = {key: value for key, value in wanted.items() if key != "status"}
    seen = from_wire(live)
    found: Object = cut(seen, main)
    added = added_fields(main, live, applied_by(applier))
    if found != main or added:
        try:
            would = to_sdk(cluster.dry_run(manifest, applier))
            found = without_noise(to_sdk(live), would, main)
            # Defaults of the server are not drift; they stay when the apply takes the whole value back.
            added = [one for one in added if not (one.whole and at(would, one.path) == at(live, one.path))]
        except ApiError:
            pass  # the reduced object is sufficient: the update reports a server that rejects the inputs
    for one in added:
        found = put(found, seen, one.path)
    if "status" in wanted:
        found["status"] = _status(cluster, live, manifest, wanted["status"])
    return found


def _status(cluster: Cluster, live: Object, manifest: Object, wanted: Any) -> Any:
    found = status_drift(live.get("status"), wanted)
    if found == wanted:
        return wanted
    try:
        would = cluster.dry_run(manifest, subresource="status")
    except ApiError:
        return found
    return status_drift(without_noise(live.get("status"), would.get("status"), wanted), wanted)


def delete(  # noqa: PLR0913 -- the parts of a request, and where its warnings go
    cluster: Cluster, identifier: str, inputs: Object, before: Object, seconds: float, *, warn: Warn
) -> None:
    """Delete exactly the object in the state, and wait until it no longer exists.

    Args:
        cluster: the cluster.
        identifier: its provider ID.
        inputs: its inputs.
        before: its state.
        seconds: the longest wait.
        warn: called with the reason if finalizers delay the deletion.

    Raises:
        MlclusterError: its labels no longer mark it as managed, or a finalizer blocks the deletion.
    """
    wanted = plain(inputs) or plain(before)
    live = cluster.live(_named(wanted, identifier))
    if live is None or (uid(before) and live["metadata"]["uid"] != uid(before)):
        return
    cluster_name = recorded_owner(before) or owner(wanted)
    if cluster_name and not ours(live, cluster_name):
        hint = "Restore its labels to delete it, or remove it from the state with `pulumi state delete`."
        raise MlclusterError(describe(live), f"is not deleted: it now belongs to {belongs_to(live)}", hint)
    annotations = (wanted.get("metadata") or {}).get("annotations") or {}
    policy = str(annotations.get(_PROPAGATION, "foreground")).capitalize()
    metadata = live["metadata"]
    try:
        cluster.kube.delete(
            live["apiVersion"],
            live["kind"],
            metadata["name"],
            metadata.get("namespace"),
            uid=metadata["uid"],
            propagation=policy,
        )
    except ApiError as error:
        if error.status != 409 or "UID" not in error.message:
            raise
        return  # another object has the name now
    if not skips_await(wanted):
        cluster.wait_gone(live, seconds, warn)
