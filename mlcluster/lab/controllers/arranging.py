"""Adapt the chart of a controller to a host process: which objects are applied, changed, or left out. Pure."""

import base64
import copy
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mlcluster.lab.ports import LOOPBACK

Manifest = dict[str, Any]

_CLUSTER_WIDE = frozenset(
    {
        "APIService",
        "ClusterRole",
        "ClusterRoleBinding",
        "CustomResourceDefinition",
        "MutatingWebhookConfiguration",
        "Namespace",
        "ValidatingWebhookConfiguration",
    }
)
# A host process needs no deployment, no service in front of it and no file from a ConfigMap.
NOT_NEEDED = frozenset({"ConfigMap", "Deployment", "Job", "PodDisruptionBudget", "Secret", "Service"})


@dataclass(frozen=True)
class Arranged:
    """The chart's objects for a lab, in waves: `first`, then the definitions' readiness, then `hooks`.

    Attributes:
        first: namespace, definitions, rights.
        hooks: webhook configurations, and API services where there are any.
        left_out: (kind, name) of what is not applied, webhooks included.
    """

    first: tuple[Manifest, ...]
    hooks: tuple[Manifest, ...]
    left_out: tuple[tuple[str, str], ...]

    @property
    def crds(self) -> list[str]:
        """Names of the custom resource definitions."""
        return [item["metadata"]["name"] for item in self.first if item["kind"] == "CustomResourceDefinition"]


def arrange(rendered: Iterable[Manifest], namespace: str, port: int | None, authority: bytes) -> Arranged:
    """Fit a rendered chart to a host process.

    Args:
        rendered: the chart's objects; not changed.
        namespace: of the release; charts do not bring it.
        port: of the webhook server, None for a controller without one.
        authority: PEM of who signed its certificate.
    """
    first, hooks, left_out = [own_namespace(namespace)], [], []
    for original in rendered:
        item = placed(copy.deepcopy(original))
        kind, name = item["kind"], item["metadata"]["name"]
        if kind.endswith("WebhookConfiguration") and port is not None:
            for hook in item["webhooks"]:
                call_host(hook["clientConfig"], port, authority)
            hooks.append(item)
        elif kind in NOT_NEEDED or kind.endswith("WebhookConfiguration") or not _is_kubernetes(item):
            left_out.append((kind, name))
        elif kind != "Namespace":
            call_host_to_convert(item, port, authority)
            first.append(item)
    return Arranged(tuple(sorted(first, key=wave)), tuple(hooks), tuple(left_out))


def placed(item: Manifest) -> Manifest:
    """The object, without a namespace where its kind has none: charts give one to webhook configurations."""
    if item["kind"] in _CLUSTER_WIDE:
        item["metadata"].pop("namespace", None)
    return item


def call_host(client: Manifest, port: int, authority: bytes) -> None:
    """Point a webhook's clientConfig to this host."""
    path = client.pop("service")["path"]
    client["url"], client["caBundle"] = f"https://{LOOPBACK}:{port}{path}", text(authority)


def call_host_to_convert(item: Manifest, port: int | None, authority: bytes) -> None:
    """The same for the conversion of a definition, where it has one."""
    conversion = (item.get("spec") or {}).get("conversion") or {}
    if item["kind"] == "CustomResourceDefinition" and conversion.get("strategy") == "Webhook" and port is not None:
        call_host(conversion["webhook"]["clientConfig"], port, authority)


def own_namespace(name: str) -> Manifest:
    """The namespace of a release."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def wave(item: Manifest) -> int:
    """The order of a start."""
    return {"Namespace": 0, "CustomResourceDefinition": 1}.get(item["kind"], 2)


def text(content: bytes) -> str:
    """Base64 as objects hold it."""
    return base64.b64encode(content).decode()


def _is_kubernetes(item: Manifest) -> bool:
    """Certificates, service monitors and their like need definitions that a lab does not have."""
    group = item["apiVersion"].rpartition("/")[0]
    return "." not in group or group.endswith(".k8s.io")
