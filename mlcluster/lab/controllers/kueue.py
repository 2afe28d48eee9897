"""Kueue as a host process: the objects of its chart, and its settings. Pure.

The facts come from Kueue 0.18.3, its chart, and runs of it on `local`.
"""

import copy
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mlcluster.catalog.kueue import CLIENT_CONNECTION, WORKERS
from mlcluster.kube.client import Kube
from mlcluster.kube.errors import ApiError, Unreachable
from mlcluster.lab import pki
from mlcluster.lab.controllers.adaptation import (
    NOT_NEEDED,
    Arranged,
    Manifest,
    call_host,
    call_host_to_convert,
    own_namespace,
    placed,
    text,
    wave,
)
from mlcluster.lab.controllers.controller import Controller, Site, webhook_trouble
from mlcluster.lab.controllers.rendering import Programs
from mlcluster.lab.ports import LOOPBACK

NAMESPACE = "kueue-system"
API_GROUP = "kueue.x-k8s.io"
SECRET = "kueue-webhook-server-cert"  # noqa: S105 - its name
VISIBILITY = "VisibilityOnDemand"
_FINALIZER = f"{API_GROUP}/resource-in-use"
# Frameworks of Kubernetes itself; all others have the name GROUP/SINGULAR.
_BUILT_IN = {
    "batch/job": ("batch", "jobs"),
    "pod": ("", "pods"),
    "deployment": ("apps", "deployments"),
    "statefulset": ("apps", "statefulsets"),
}


class Kueue(Controller):
    """The queueing controller. Its settings are its Configuration of config.kueue.x-k8s.io/v1beta2."""

    name = "kueue"
    namespace = NAMESPACE
    groups = (API_GROUP,)
    port_names = ("webhook", "health", "metrics", "visibility")

    def render(self, programs: Programs, manifests: Path, settings: Mapping[str, Any]) -> list[Manifest]:
        """Return the chart's objects; namespaceSelector and failurePolicy of the webhooks follow the configuration."""
        values = {"managerConfig": {"controllerManagerConfigYaml": json.dumps(settings)}}
        return super().render(programs, manifests, values)

    def arrange(self, rendered: list[Manifest], site: Site, files: Mapping[str, bytes]) -> Arranged:
        """Adapt the objects; see the function `arrange`."""
        return arrange(rendered, site.settings, site.ports, files)

    def certificates(self) -> dict[str, bytes]:
        """Return a certificate that Kueue's certificate rotator accepts."""
        return pki.kueue_files()

    def config(self, site: Site) -> Manifest:
        """Return the configuration; see `host_config`."""
        return host_config(site.settings, site.ports, str(site.certificates))

    def flags(self, site: Site) -> list[str]:
        """Return the arguments, with a readable log format."""
        return [*super().flags(site), "--zap-log-level=1", "--zap-encoder=console"]

    def trouble(self, kube: Kube, site: Site) -> str:
        """Check that the mutating webhook adds a finalizer to a flavor and the validating one rejects a bad label."""
        flavor = {"apiVersion": f"{API_GROUP}/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "lab-probe"}}
        wrong = {**flavor, "spec": {"nodeLabels": {"not a label": "x"}}}
        found = webhook_trouble(
            kube, flavor, wrong, lambda made: _FINALIZER in (made["metadata"].get("finalizers") or [])
        )
        return found or (_visibility_trouble(kube) if has_visibility(site.settings) else "")


def _visibility_trouble(kube: Kube) -> str:
    try:
        kube.request("GET", f"/apis/visibility.{API_GROUP}/v1beta2")
    except (ApiError, Unreachable) as error:
        return error.happened
    return ""


def host_config(config: Mapping[str, Any], ports: Mapping[str, int], certificates: str) -> Manifest:
    """Return Kueue's Configuration for a process on this host: `config` with overrides for the lab.

    Args:
        config: a Configuration of config.kueue.x-k8s.io/v1beta2; settings for workloads stay unchanged.
        ports: its loopback ports.
        certificates: directory with tls.crt and tls.key.
    """
    own: Manifest = {
        "namespace": NAMESPACE,  # otherwise Kueue reads a file that exists only in a pod
        "health": {"healthProbeBindAddress": f"{LOOPBACK}:{ports['health']}"},
        "metrics": {"bindAddress": f"{LOOPBACK}:{ports['metrics']}"},
        "webhook": {"host": LOOPBACK, "port": ports["webhook"], "certDir": certificates},
        "leaderElection": {"leaderElect": False},
        # Without it, Kueue requires a metrics certificate in a directory that only root can create.
        "internalCertManagement": {
            "enable": True,
            "webhookServiceName": "kueue-webhook-service",
            "webhookSecretName": SECRET,
        },
        "featureGates": {VISIBILITY: has_visibility(config)},
    }
    if has_visibility(config):
        own["visibilityServer"] = {"bindAddress": LOOPBACK, "bindPort": ports["visibility"]}
    rates: Manifest = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "clientConnection": CLIENT_CONNECTION,
        "controller": {"groupKindConcurrency": WORKERS},
    }
    return _laid_over(rates, config, own)


def has_visibility(config: Mapping[str, Any]) -> bool:
    """Return whether Kueue serves positions of pending workloads, which is disabled by default.

    While Kueue is down, the API services for it delay the deletion of every namespace.
    """
    return (config.get("featureGates") or {}).get(VISIBILITY) is True


def arrange(
    rendered: Iterable[Manifest], config: Mapping[str, Any], ports: Mapping[str, int], secret: Mapping[str, bytes]
) -> Arranged:
    """Adapt the rendered chart to a host process.

    Webhooks and conversions call 127.0.0.1 with the lab's authority. Only webhooks of Kueue's own kinds and of the
    frameworks in `config` remain, each with the namespaceSelector of the chart, because a webhook without a server
    would reject every request that it matches.

    Args:
        rendered: the chart's objects; not changed.
        config: see `host_config`.
        ports: see `host_config`.
        secret: the webhook's certificate files by name.
    """
    authority, visible = secret["ca.crt"], has_visibility(config)
    first: list[Manifest] = [own_namespace(NAMESPACE)]
    hooks: list[Manifest] = []
    left_out: list[tuple[str, str]] = []
    for original in rendered:
        item = placed(copy.deepcopy(original))
        kind, name = item["kind"], item["metadata"]["name"]
        if kind.endswith("WebhookConfiguration"):
            left_out += [(kind, hook) for hook in _keep_hooks(item, config)]
            for hook in item["webhooks"]:
                call_host(hook["clientConfig"], ports["webhook"], authority)
            hooks.append(item)
        elif _is_visibility(item) and visible and kind != "ConfigMap":
            (hooks if kind == "APIService" else first).append(_served_by_host(item, ports))
        elif kind in NOT_NEEDED or _is_visibility(item):
            left_out.append((kind, name))
        else:
            call_host_to_convert(item, ports["webhook"], authority)
            first.append(item)
    first.append(_secret(secret))
    return Arranged(tuple(sorted(first, key=wave)), tuple(hooks), tuple(left_out))


def _laid_over(*layers: Mapping[str, Any]) -> Manifest:
    whole: Manifest = {}
    for layer in layers:
        for key, value in layer.items():
            both = isinstance(value, Mapping) and isinstance(whole.get(key), Mapping)
            whole[key] = _laid_over(whole[key], value) if both else copy.deepcopy(value)
    return whole


def _keep_hooks(item: Manifest, config: Mapping[str, Any]) -> list[str]:
    """Remove the webhooks of unused frameworks, and return their names."""
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


def _is_visibility(item: Manifest) -> bool:
    labels = item["metadata"].get("labels") or {}
    # ClusterRoles carry the label too; they are harmless, and teams can have their permissions.
    return labels.get("app.kubernetes.io/component") == "visibility-service" or item["kind"] == "APIService"


def _served_by_host(item: Manifest, ports: Mapping[str, int]) -> Manifest:
    if item["kind"] == "APIService":
        item["spec"]["service"]["port"] = ports["visibility"]
    if item["kind"] == "Service":
        port = {"name": "https", "port": ports["visibility"], "protocol": "TCP"}
        item["spec"] = {"type": "ExternalName", "externalName": LOOPBACK, "ports": [port]}
    return item


def _secret(contents: Mapping[str, bytes]) -> Manifest:
    data = {name: text(content) for name, content in contents.items()}
    metadata = {"name": SECRET, "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data}
