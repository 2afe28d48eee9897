"""Construction of an object of the plan: its id, its labels, its needs."""

from mlcluster.plan import names
from mlcluster.plan.model import ItemRef, Manifest, PlanObject
from mlcluster.spec.document import Loc

KUEUE_API = "kueue.x-k8s.io/v1beta2"
RBAC_GROUP = "rbac.authorization.k8s.io"
RBAC_API = f"{RBAC_GROUP}/v1"
READ = ["get", "list", "watch"]
"""The verbs of RBAC rules that read objects."""


def cluster_role_ref(name: str) -> Manifest:
    """Return the `roleRef` of a binding to a ClusterRole."""
    return {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": name}


def object_id(kind: str, name: str, namespace: str = "") -> str:
    """Return the id of an object."""
    return ItemRef(kind, name, namespace).id


def make(  # noqa: PLR0913 -- the six parts of every Kubernetes object
    cluster: str,
    api_version: str,
    kind: str,
    name: str,
    body: Manifest,
    *,
    namespace: str = "",
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    needs: tuple[str, ...] = (),
    spec_path: Loc,
    team: str = "",
    pool: str = "",
) -> PlanObject:
    """Return an object with the managed labels; an object in a managed namespace needs that namespace first.

    Args:
        cluster: name of the cluster, for the ownership labels.
        body: everything but apiVersion, kind and metadata.
        team: the team that the object belongs to, which its label names.
        pool: the pool that the object is for.
    """
    metadata: Manifest = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    metadata["labels"] = names.owned(cluster, **({names.TEAM: team} if team else {}), **(labels or {}))
    if annotations:
        metadata["annotations"] = annotations
    before = (object_id("Namespace", namespace), *needs) if namespace else needs
    manifest = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}
    return PlanObject(object_id(kind, name, namespace), manifest, before, spec_path, team=team, pool=pool)


def from_manifest(cluster: str, manifest: Manifest, *, needs: tuple[str, ...] = (), spec_path: Loc) -> PlanObject:
    """Return a cluster-scoped object of the plan from its manifest, with the ownership labels.

    Args:
        cluster: name of the cluster, for the ownership labels.
        manifest: whole; of its metadata only the name counts.
        needs: ids of objects that must exist first.
    """
    body = {key: value for key, value in manifest.items() if key not in {"apiVersion", "kind", "metadata"}}
    kind, name = manifest["kind"], manifest["metadata"]["name"]
    return make(cluster, manifest["apiVersion"], kind, name, body, needs=needs, spec_path=spec_path)
