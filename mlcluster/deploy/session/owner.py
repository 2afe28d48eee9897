"""The owner of a cluster: a ConfigMap names the stack that manages it, its backend, and its last user."""

import getpass
import socket
from urllib.parse import urlsplit, urlunsplit

from mlcluster.engine.home import StackHome
from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.plan import names

NAMESPACE = "kube-system"
NAME = "mlcluster-owner"


def check_owner(kube: Kube, cluster: str, home: StackHome) -> None:
    """Refuse a cluster that another stack manages, or the stack of the same name in another backend.

    Raises:
        MlclusterError: names the owner.
    """
    found = kube.get_object("v1", "ConfigMap", NAME, NAMESPACE)
    if found is None:
        return
    owner = found.get("data") or {}
    if owner.get("stack") == cluster and owner.get("backend") == _backend(home):
        return
    raise MlclusterError(
        "checking who manages this cluster",
        f"it belongs to the stack {owner.get('stack', '?')} of {owner.get('backend', '?')}, "
        f"last used by {owner.get('holder', '?')}",
        "use that spec and backend, choose another cluster, or take the other stack down first",
    )


def is_owner(kube: Kube, cluster: str, home: StackHome) -> bool:
    """Return whether the cluster names this stack of this backend as its owner."""
    found = kube.get_object("v1", "ConfigMap", NAME, NAMESPACE)
    owner = (found or {}).get("data") or {}
    return bool(owner.get("stack") == cluster and owner.get("backend") == _backend(home))


def claim(kube: Kube, cluster: str, home: StackHome) -> None:
    """Write the ConfigMap of the owner, before the first object of the cluster is created."""
    data = {"stack": cluster, "backend": _backend(home), "holder": f"{getpass.getuser()}@{socket.gethostname()}"}
    metadata = {"name": NAME, "namespace": NAMESPACE, "labels": names.owned(cluster)}
    kube.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


def release(kube: Kube) -> None:
    """Delete the ConfigMap of the owner: the last step of `down` in the cluster."""
    kube.delete("v1", "ConfigMap", NAME, NAMESPACE)


def _backend(home: StackHome) -> str:
    """Return the address of the backend without user information and query, which may hold credentials."""
    parts = urlsplit(home.backend_url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
