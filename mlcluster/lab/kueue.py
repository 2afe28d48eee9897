"""Kueue outside a container: what of its chart is applied, changed or left out, and its settings on a host. Pure.

Facts are from Kueue 0.18.3, its chart and `local` runs of it.
"""

import base64
import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mlcluster.lab.ports import LOOPBACK, KueuePorts

Manifest = dict[str, Any]

NAMESPACE = "kueue-system"
API_GROUP = "kueue.x-k8s.io"
SECRET = "kueue-webhook-server-cert"  # noqa: S105 - its name
VISIBILITY = "VisibilityOnDemand"
# Frameworks of Kubernetes itself; all others are called GROUP/SINGULAR.
_BUILT_IN = {
    "batch/job": ("batch", "jobs"),
    "pod": ("", "pods"),
    "deployment": ("apps", "deployments"),
    "statefulset": ("apps", "statefulsets"),
}
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
_NOT_NEEDED = frozenset({"ConfigMap", "Deployment", "Secret", "Service"})


@dataclass(frozen=True)
class Arranged:
    """The chart's objects for a lab, in waves: `first`, then the definitions' readiness, then `hooks`.

    Attributes:
        first: namespace, definitions, rights, the certificate's Secret.
        hooks: webhook configurations, and API services when visibility is on.
        left_out: (kind, name) of what is not applied, webhooks included.
    """

    first: tuple[Manifest, ...]
    hooks: tuple[Manifest, ...]
    left_out: tuple[tuple[str, str], ...]

    @property
    def definitions(self) -> list[str]:
        """Names of the custom resource definitions."""
        return [item["metadata"]["name"] for item in self.first if item["kind"] == "CustomResourceDefinition"]


def host_config(config: Mapping[str, Any], ports: KueuePorts, certificates: str) -> Manifest:
    """Kueue's Configuration for a process on this host: `config` with the lab's own settings laid over it.

    Args:
        config: a Configuration of config.kueue.x-k8s.io/v1beta2; what decides on workloads is taken as it is.
        ports: where it listens, on loopback.
        certificates: directory with tls.crt and tls.key.
    """
    own: Manifest = {
        "namespace": NAMESPACE,  # otherwise it looks for the file that a pod has
        "health": {"healthProbeBindAddress": f"{LOOPBACK}:{ports.health}"},
        "metrics": {"bindAddress": f"{LOOPBACK}:{ports.metrics}"},
        "webhook": {"host": LOOPBACK, "port": ports.webhook, "certDir": certificates},
        "leaderElection": {"leaderElect": False},
        # With it off Kueue insists on a metrics certificate in a directory that only root can make.
        "internalCertManagement": {
            "enable": True,
            "webhookServiceName": "kueue-webhook-service",
            "webhookSecretName": SECRET,
        },
        "clientConnection": {"qps": 1000, "burst": 2000},  # as it comes: 50 requests a second
        "featureGates": {VISIBILITY: has_visibility(config)},
    }
    if has_visibility(config):
        own["visibilityServer"] = {"bindAddress": LOOPBACK, "bindPort": ports.visibility}
    kind = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
    return _laid_over({**kind, "controller": {"groupKindConcurrency": _CONCURRENCY}}, config, own)


_CONCURRENCY = {
    "Job.batch": 20,
    "Pod": 5,
    f"Workload.{API_GROUP}": 20,
    f"LocalQueue.{API_GROUP}": 5,
    f"ClusterQueue.{API_GROUP}": 5,
    f"ResourceFlavor.{API_GROUP}": 1,
}


def has_visibility(config: Mapping[str, Any]) -> bool:
    """Whether pending positions are served; off unless asked for.

    The API services behind it make the deletion of every namespace wait while Kueue is down.
    """
    return (config.get("featureGates") or {}).get(VISIBILITY) is True


def arrange(
    rendered: Iterable[Manifest], config: Mapping[str, Any], ports: KueuePorts, secret: Mapping[str, bytes]
) -> Arranged:
    """Fit the rendered chart to a host process.

    Webhooks and conversions call 127.0.0.1 with our authority. Only webhooks of Kueue's own kinds and of the
    frameworks in `config` stay, each with the namespaceSelector that the chart gave it: a webhook that nobody
    serves would refuse everything it matches.

    Args:
        rendered: the chart's objects; not changed.
        config: as for `host_config`.
        ports: as for `host_config`.
        secret: the webhook's certificate files by name.
    """
    authority, visible = _text(secret["ca.crt"]), has_visibility(config)
    first: list[Manifest] = [_namespace()]
    hooks: list[Manifest] = []
    left_out: list[tuple[str, str]] = []
    for original in rendered:
        item = _placed(copy.deepcopy(original))
        kind, name = item["kind"], item["metadata"]["name"]
        if kind.endswith("WebhookConfiguration"):
            left_out += [(kind, hook) for hook in _keep_hooks(item, config)]
            for hook in item["webhooks"]:
                _call_host(hook["clientConfig"], ports, authority)
            hooks.append(item)
        elif _is_visibility(item) and visible and kind != "ConfigMap":
            (hooks if kind == "APIService" else first).append(_served_by_host(item, ports))
        elif kind in _NOT_NEEDED or _is_visibility(item):
            left_out.append((kind, name))
        else:
            conversion = (item.get("spec") or {}).get("conversion") or {}
            if conversion.get("strategy") == "Webhook":
                _call_host(conversion["webhook"]["clientConfig"], ports, authority)
            first.append(item)
    first.append(_secret(secret))
    return Arranged(tuple(sorted(first, key=_wave)), tuple(hooks), tuple(left_out))


def probe_flavor() -> Manifest:
    """A ResourceFlavor for a dry run: the mutating webhook gives it `FINALIZER`."""
    return {"apiVersion": f"{API_GROUP}/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "mlcluster-lab-probe"}}


FINALIZER = f"{API_GROUP}/resource-in-use"


def _laid_over(*layers: Mapping[str, Any]) -> Manifest:
    whole: Manifest = {}
    for layer in layers:
        for key, value in layer.items():
            both = isinstance(value, Mapping) and isinstance(whole.get(key), Mapping)
            whole[key] = _laid_over(whole[key], value) if both else copy.deepcopy(value)
    return whole


def _placed(item: Manifest) -> Manifest:
    if item["kind"] in _CLUSTER_WIDE:  # the chart gives a namespace to webhook configurations
        item["metadata"].pop("namespace", None)
    return item


def _keep_hooks(item: Manifest, config: Mapping[str, Any]) -> list[str]:
    """Drops the webhooks that nobody asked for; their names."""
    served = {_served(framework) for framework in (config.get("integrations") or {}).get("frameworks") or []}
    kept: list[Manifest] = []
    dropped: list[Manifest] = []
    for hook in item["webhooks"]:
        targets = {(group, kind) for rule in hook["rules"] for group in rule["apiGroups"] for kind in rule["resources"]}
        wanted = any(group == API_GROUP for group, _ in targets) or not targets.isdisjoint(served)
        (kept if wanted else dropped).append(hook)
    item["webhooks"] = kept
    return [hook["name"] for hook in dropped]


def _served(framework: str) -> tuple[str, str]:
    group, _, singular = framework.rpartition("/")
    return _BUILT_IN.get(framework, (group, f"{singular}s"))


def _call_host(client: Manifest, ports: KueuePorts, authority: str) -> None:
    path = client.pop("service")["path"]
    client["url"], client["caBundle"] = f"https://{LOOPBACK}:{ports.webhook}{path}", authority


def _is_visibility(item: Manifest) -> bool:
    labels = item["metadata"].get("labels") or {}
    # The label stands on ClusterRoles too; those are harmless and part of what teams may be granted.
    return labels.get("app.kubernetes.io/component") == "visibility-service" or item["kind"] == "APIService"


def _served_by_host(item: Manifest, ports: KueuePorts) -> Manifest:
    if item["kind"] == "APIService":
        item["spec"]["service"]["port"] = ports.visibility
    if item["kind"] == "Service":
        port = {"name": "https", "port": ports.visibility, "protocol": "TCP"}
        item["spec"] = {"type": "ExternalName", "externalName": LOOPBACK, "ports": [port]}
    return item


def _namespace() -> Manifest:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}


def _secret(contents: Mapping[str, bytes]) -> Manifest:
    data = {name: _text(content) for name, content in contents.items()}
    metadata = {"name": SECRET, "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data}


def _wave(item: Manifest) -> int:
    return {"Namespace": 0, "CustomResourceDefinition": 1}.get(item["kind"], 2)


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()
