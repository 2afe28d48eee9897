"""Ownership of an object, by its labels alone: a killed run continues, and no other party's object changes."""

from typing import Any

MANAGED_BY = "app.kubernetes.io/managed-by"
CLUSTER = "mlcluster.dev/cluster"
US = "mlcluster"
_RELEASE_NAME = "meta.helm.sh/release-name"
_RELEASE_NAMESPACE = "meta.helm.sh/release-namespace"

Object = dict[str, Any]


def owner(manifest: Object) -> str:
    """The cluster whose object this is by its labels; "" when it is not one of mlcluster's."""
    labels = _metadata(manifest).get("labels") or {}
    return str(labels.get(CLUSTER) or "") if labels.get(MANAGED_BY) == US else ""


def ours(live: Object, cluster: str) -> bool:
    """Whether a live object belongs to this cluster of mlcluster."""
    return bool(cluster) and owner(live) == cluster


def belongs_to(live: Object) -> str:
    """Who seems to own a live object: its managed-by label, its Helm release, or who wrote its fields."""
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
    return f"the field manager {', '.join(managers)}" if managers else "somebody else: it carries no owner label"


def describe(manifest: Object) -> str:
    """`ConfigMap team-a/settings`: how messages name an object."""
    return f"{manifest.get('kind', 'object')} {identity(manifest)}"


def identity(manifest: Object) -> str:
    """The Pulumi id of an object: `namespace/name`, or the name alone."""
    metadata = _metadata(manifest)
    namespace, name = metadata.get("namespace"), str(metadata.get("name", ""))
    return f"{namespace}/{name}" if namespace else name


def _metadata(manifest: Object) -> Object:
    metadata = manifest.get("metadata")
    return metadata if isinstance(metadata, dict) else {}
