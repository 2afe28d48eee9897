"""Check that the cluster answers, accepts the credentials, and grants the rights that are needed.

The engine previews happily against a dead cluster, a wrong token or no rights, so this is asked before every run.
"""

from mlcluster.errors import MlclusterError
from mlcluster.kube.client import Kube
from mlcluster.kube.errors import Forbidden, Unauthorized, Unreachable

Permission = tuple[str, str, str]

_DOING = "checking the cluster"
_DEAD = {
    "refused": "is not running: the connection was refused",
    "timeout": "does not answer in time",
    "tls": "has a certificate that this kubeconfig does not trust",
    "other": "cannot be reached",
}


def preflight(kube: Kube, *, permissions: list[Permission]) -> None:
    """Nothing when all is well.

    Args:
        kube: the server to ask.
        permissions: `(verb, API group, plural resource)`, cluster-wide; group "" is the core group.

    Raises:
        MlclusterError: exactly one, that tells apart a dead server, TLS, unknown credentials and missing rights.
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
        raise MlclusterError(_DOING, f"{where} refuses us (403): {error.message}", error.hint) from error
    if missing:
        rights = ", ".join(_spell(wanted) for wanted in missing)
        hint = "ask a cluster administrator for a ClusterRole with these rights"
        raise MlclusterError(_DOING, f"{where} does not allow us to: {rights} (403)", hint)


def _spell(wanted: Permission) -> str:
    verb, group, resource = wanted
    return f"{verb} {resource}.{group}" if group else f"{verb} {resource}"
