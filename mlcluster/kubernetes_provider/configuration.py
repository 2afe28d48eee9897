"""Arguments of the provider: the cluster, the namespace, and the changes that mean another cluster."""

import json
from dataclasses import dataclass
from typing import Any

from mlcluster.errors import MlclusterError
from mlcluster.kube.kubeconfig import read_kubeconfig
from mlcluster.kubernetes_provider.values import Secret, has_unknown, is_unknown, plain

# Arguments of the official provider for features that this provider does not have.
_NOT_HERE = {
    "renderYamlToDirectory": "use `mlcluster plan -o yaml`",
    "deleteUnreachable": "an unreachable cluster is an error",
    "skipUpdateUnreachable": "an unreachable cluster is an error",
    "cluster": "name a context instead",
}


@dataclass(frozen=True)
class Settings:
    """The settings from the RPC Configure.

    Attributes:
        kubeconfig: path or text, "" for the default paths.
        blind: why this preview cannot reach a server; "" if it can.
    """

    kubeconfig: str = ""
    context: str | None = None
    namespace: str = ""
    cluster_identifier: str = ""
    blind: str = ""


def read_settings(arguments: dict[str, Any]) -> Settings:
    """Return the settings from the arguments of Configure, which are texts or texts with JSON."""
    given = {key: _text(value) for key, value in plain(arguments).items()}
    blind = "the kubeconfig is not known yet" if is_unknown(given.get("kubeconfig")) else ""
    return Settings(
        kubeconfig="" if blind else given.get("kubeconfig", ""),
        context=given.get("context") or None,
        namespace=given.get("namespace", ""),
        cluster_identifier=given.get("clusterIdentifier", ""),
        blind=blind,
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def check_arguments(arguments: dict[str, Any]) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Return the arguments with the text of a kubeconfig marked as secret, and the problems in them."""
    wrong = [
        (key, f"the built-in provider has no {key}: {instead}")
        for key, instead in _NOT_HERE.items()
        if plain(arguments.get(key)) not in {None, "", "false"}
    ]
    kubeconfig = arguments.get("kubeconfig")
    if isinstance(kubeconfig, str) and _is_text(kubeconfig):
        arguments = {**arguments, "kubeconfig": Secret(kubeconfig)}
    return arguments, wrong


def _is_text(kubeconfig: str) -> bool:
    return "\n" in kubeconfig or kubeconfig.lstrip().startswith("{")


def another_cluster(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Return the changed arguments that require a replacement of every resource; usually none.

    If there is a cluster identifier, it alone decides, else the server's address, if both addresses are known.
    """
    old, new = plain(old), plain(new)
    before, after = old.get("clusterIdentifier"), new.get("clusterIdentifier")
    if before or after:
        return ["clusterIdentifier"] if before and after and before != after else []
    if has_unknown(old.get("kubeconfig")) or has_unknown(new.get("kubeconfig")):
        return []
    servers = [_server(item) for item in (old, new)]
    return ["kubeconfig"] if all(servers) and servers[0] != servers[1] else []


def _server(arguments: dict[str, Any]) -> str:
    try:
        return read_kubeconfig(arguments.get("kubeconfig") or "", arguments.get("context") or None).server
    except MlclusterError:
        return ""
