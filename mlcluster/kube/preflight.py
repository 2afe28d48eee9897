"""Check that the cluster responds, accepts the credentials, and grants the required permissions.

The engine reports no error in a preview against a stopped cluster or without permissions, so every run starts with
this check.
"""

from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.kube.errors import Forbidden, Unauthorized, Unreachable

Permission = tuple[str, str, str]

_DOING = "checking the cluster"
_DEAD = {
    "refused": "is not running: the connection was refused",
    "timeout": "does not respond in time",
    "tls": "has a certificate that this kubeconfig does not trust",
    "other": "cannot be reached",
}


def preflight(kube: Kube, *, permissions: list[Permission]) -> None:
    """Raise an error if the cluster is not usable.

    Args:
        kube: the API server.
        permissions: `(verb, API group, plural resource)`, cluster-wide; group "" is the core group.

    Raises:
        MlclusterError: the server does not run, TLS fails, it rejects the credentials, or permissions are missing.
    """
    where = f"the API server {kube.access.server} of context '{kube.access.context}'"
    try:
        kube.version()
        missing = [wanted for wanted in permissions if not kube.can(*wanted)]
    except Unreachable as error:
        raise MlclusterError(_DOING, f"{where} {_DEAD[error.trouble]}", error.hint) from error
    except Unauthorized as error:
        raise MlclusterError(_DOING, f"{where} does not accept the credentials (401)", error.hint) from error
    except Forbidden as error:
        raise MlclusterError(_DOING, f"{where} rejects the request (403): {error.message}", error.hint) from error
    if missing:
        rights = ", ".join(_spell(wanted) for wanted in missing)
        hint = "Ask a cluster administrator for a ClusterRole with these permissions."
        raise MlclusterError(_DOING, f"{where} does not allow: {rights} (403)", hint)


def _spell(wanted: Permission) -> str:
    verb, group, resource = wanted
    return f"{verb} {resource}.{group}" if group else f"{verb} {resource}"
