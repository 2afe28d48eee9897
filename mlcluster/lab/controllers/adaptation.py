"""Adaptation of a controller's chart to a host process: which objects are applied, changed, or omitted. Pure."""

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
# A host process needs no Deployment, no Service and no file from a ConfigMap.
NOT_NEEDED = frozenset({"ConfigMap", "Deployment", "Job", "PodDisruptionBudget", "Secret", "Service"})


@dataclass(frozen=True)
class Arranged:
    """The chart's objects for a lab, in waves: `first`, then readiness of the CRDs, then `hooks`.

    Attributes:
        first: namespace, CRDs and RBAC objects.
        hooks: webhook configurations, and API services if there are any.
        left_out: (kind, name) of the objects that are not applied, including webhooks.
    """

    first: tuple[Manifest, ...]
    hooks: tuple[Manifest, ...]
    left_out: tuple[tuple[str, str], ...]

    @property
    def crds(self) -> list[str]:
        """The names of the CRDs."""
        return [item["metadata"]["name"] for item in self.first if item["kind"] == "CustomResourceDefinition"]


def arrange(rendered: Iterable[Manifest], namespace: str, port: int | None, authority: bytes) -> Arranged:
    """Adapt a rendered chart to a host process.

    Args:
        rendered: the chart's objects; not changed.
        namespace: namespace of the release, which charts do not contain.
        port: port of the webhook server, None for a controller without one.
        authority: PEM of the authority of its certificate.
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
    """Return the object without the namespace that charts give to cluster-scoped webhook configurations."""
    if item["kind"] in _CLUSTER_WIDE:
        item["metadata"].pop("namespace", None)
    return item


def call_host(client: Manifest, port: int, authority: bytes) -> None:
    """Set a webhook's clientConfig to this host."""
    path = client.pop("service")["path"]
    client["url"], client["caBundle"] = f"https://{LOOPBACK}:{port}{path}", text(authority)


def call_host_to_convert(item: Manifest, port: int | None, authority: bytes) -> None:
    """Set the conversion webhook of a CRD, if it has one, to this host."""
    conversion = (item.get("spec") or {}).get("conversion") or {}
    if item["kind"] == "CustomResourceDefinition" and conversion.get("strategy") == "Webhook" and port is not None:
        call_host(conversion["webhook"]["clientConfig"], port, authority)


def own_namespace(name: str) -> Manifest:
    """Return the namespace object of a release."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def wave(item: Manifest) -> int:
    """Return the position of an object in the order of a start."""
    return {"Namespace": 0, "CustomResourceDefinition": 1}.get(item["kind"], 2)


def text(content: bytes) -> str:
    """Return content in base64, as in the fields of objects."""
    return base64.b64encode(content).decode()


def _is_kubernetes(item: Manifest) -> bool:
    """Return whether the kind is part of Kubernetes; a lab has no CRDs of certificates or service monitors."""
    group = item["apiVersion"].rpartition("/")[0]
    return "." not in group or group.endswith(".k8s.io")
