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
    owner = _owner(kube)
    if owner is None or _is(owner, cluster, home):
        return
    raise MlclusterError(
        "checking who manages this cluster",
        f"it belongs to the stack {owner.get('stack', '?')} of {owner.get('backend', '?')}, "
        f"last used by {owner.get('holder', '?')}",
        "Use that spec and backend, choose another cluster, or run `mlcluster down` with the other spec first.",
    )


def is_owner(kube: Kube, cluster: str, home: StackHome) -> bool:
    """Return whether the cluster names this stack of this backend as its owner."""
    return _is(_owner(kube) or {}, cluster, home)


def claim(kube: Kube, cluster: str, home: StackHome) -> None:
    """Write the ConfigMap of the owner, before the first object of the cluster is created."""
    data = {"stack": cluster, "backend": _backend(home), "holder": f"{getpass.getuser()}@{socket.gethostname()}"}
    metadata = {"name": NAME, "namespace": NAMESPACE, "labels": names.owned(cluster)}
    kube.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


def release(kube: Kube) -> None:
    """Delete the ConfigMap of the owner: the last step of `down` in the cluster."""
    kube.delete("v1", "ConfigMap", NAME, NAMESPACE)


def _owner(kube: Kube) -> dict[str, str] | None:
    """Return the contents of the ConfigMap of the owner; None without one."""
    found = kube.get_object("v1", "ConfigMap", NAME, NAMESPACE)
    return None if found is None else found.get("data") or {}


def _is(owner: dict[str, str], cluster: str, home: StackHome) -> bool:
    return owner.get("stack") == cluster and owner.get("backend") == _backend(home)


def _backend(home: StackHome) -> str:
    """Return the address of the backend without user information and query, which may hold credentials."""
    parts = urlsplit(home.backend_url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
