"""Ownership of an object, by its labels alone: a killed run continues, and no other party's object changes."""

from typing import Any

MANAGED_BY = "app.kubernetes.io/managed-by"
CLUSTER = "mlcluster.dev/cluster"
US = "mlcluster"
_RELEASE_NAME = "meta.helm.sh/release-name"
_RELEASE_NAMESPACE = "meta.helm.sh/release-namespace"

Object = dict[str, Any]


def owner(manifest: Object) -> str:
    """Return the cluster that manages an object by its labels; "" if mlcluster does not manage it."""
    labels = _metadata(manifest).get("labels") or {}
    return str(labels.get(CLUSTER) or "") if labels.get(MANAGED_BY) == US else ""


def ours(live: Object, cluster: str) -> bool:
    """Return whether this cluster of mlcluster manages a live object."""
    return bool(cluster) and owner(live) == cluster


def belongs_to(live: Object) -> str:
    """Return the probable owner of a live object: its managed-by label, its Helm release, or its field managers."""
    metadata = _metadata(live)
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    manager = labels.get(MANAGED_BY)
    if manager == US:
        return f"mlcluster, cluster '{labels.get(CLUSTER) or 'unknown'}'"
    if annotations.get(_RELEASE_NAME):
        return f"the Helm release {annotations.get(_RELEASE_NAMESPACE, '')}/{annotations[_RELEASE_NAME]}"
    if manager:
        return f"'{manager}' (label {MANAGED_BY})"
    managers = {str(entry.get("manager")): None for entry in metadata.get("managedFields") or []}
    return f"the field manager {', '.join(managers)}" if managers else "an unknown owner: it has no owner label"


def describe(manifest: Object) -> str:
    """Return the name of an object in messages: `ConfigMap team-a/settings`."""
    return f"{manifest.get('kind', 'object')} {identity(manifest)}"


def identity(manifest: Object) -> str:
    """Return the Pulumi ID of an object: `namespace/name`, or only the name."""
    metadata = _metadata(manifest)
    namespace, name = metadata.get("namespace"), str(metadata.get("name", ""))
    return f"{namespace}/{name}" if namespace else name


def _metadata(manifest: Object) -> Object:
    metadata = manifest.get("metadata")
    return metadata if isinstance(metadata, dict) else {}
