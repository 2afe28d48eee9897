"""Multus (thick plugin): more than one interface for a pod (k8snetworkplumbingwg/multus-cni v4.3.0).

The networks are NetworkAttachmentDefinitions in the namespaces of teams, also with an existing Multus.
"""

import json

from mlcluster.findings import Finding, finding
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.contribution import Contribution
from mlcluster.plan.components.daemon_sets import (
    CNI_BINARIES,
    CNI_CONFIG,
    PRIVILEGED,
    bound,
    config_map,
    daemon_set,
    from_config,
    from_host,
    image,
    mount,
    node_name,
    service_account,
)
from mlcluster.plan.components.multus_networks import attachments
from mlcluster.plan.components.releases import release_id
from mlcluster.plan.model import Manifest
from mlcluster.plan.objects import from_manifest
from mlcluster.plan.templates import filled
from mlcluster.spec.secondary_networks import networks, operator_runs

NAME = "multus"
CRD = "crds/network-attachment-definitions.yaml"
CONFIG_MAP = "multus-daemon-config"
DAEMON_SET = "kube-multus-ds"
REQUESTS = {"cpu": "100m", "memory": "128Mi"}
MEMORY_LIMIT = "512Mi"
"""Upstream's limit of 50Mi causes OOM kills when many pods start at once."""

EKS_NETWORK = "/host/etc/cni/net.d/10-aws.conflist"
"""The daemon's path of the VPC CNI's configuration: if Multus starts before that file exists, the configuration that
Multus writes has no default network."""

_RULES = [
    {"apiGroups": ["k8s.cni.cncf.io"], "resources": ["*"], "verbs": ["*"]},
    {"apiGroups": [""], "resources": ["pods", "pods/status"], "verbs": ["get", "list", "update", "watch"]},
    {
        "apiGroups": ["resource.k8s.io"],
        "resources": ["resourceclaims", "resourceclaims/status", "resourceslices"],
        "verbs": ["get", "list"],
    },
    {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch", "update"]},
]


def contribute(context: ComponentContext) -> Contribution:
    """Return the networks, and Multus on every node unless the Network Operator or an existing Multus runs there."""
    settings = context.settings(NAME)
    managed = not operator_runs(context.spec) and (settings is None or settings.install)
    findings = tuple(_without_networks(context))
    if not managed:
        there = (release_id("network-operator"),) if operator_runs(context.spec) else ()
        return Contribution(objects=tuple(attachments(context, there)), findings=findings)
    kind = from_manifest(context.cluster, filled(CRD), spec_path=context.spec_path(NAME))
    rights = service_account(context, NAME, NAME, _RULES)
    config = config_map(context, NAME, CONFIG_MAP, {"daemon-config.json": daemon_configuration(context)})
    needs = (kind.id, bound(NAME))
    made = daemon_set(context, NAME, DAEMON_SET, context.pools, _pod(context), needs=needs, reads=[config])
    objects = (kind, *rights, config, made.object, *attachments(context, (kind.id,)))
    return Contribution(objects=objects, pods=made.pods, findings=findings)


def daemon_configuration(context: ComponentContext) -> str:
    """Return the configuration of the daemon as JSON (multus-cni docs/thick-plugin.md)."""
    config: Manifest = {
        "chrootDir": "/hostroot",
        "cniVersion": "0.3.1",
        "logLevel": "verbose",
        "logToStderr": True,
        "cniConfigDir": "/host/etc/cni/net.d",
        "multusAutoconfigDir": "/host/etc/cni/net.d",
        "multusConfigFile": "auto",
        "socketDir": "/host/run/multus/",
        # A pod joins the networks of its own namespace only: each team has its own copies.
        "namespaceIsolation": True,
    }
    if context.target == "eks":
        config["readinessindicatorfile"] = EKS_NETWORK
    return json.dumps(config, indent=2)


def _without_networks(context: ComponentContext) -> list[Finding]:
    if networks(context.spec):
        return []
    message = "Multus runs on every node, and the spec has no network that a pod can join"
    return [finding("NET007", context.spec_path(NAME), message, "Add `networks`, or remove `multus`")]


def _pod(context: ComponentContext) -> Manifest:
    reference = image(context, NAME)
    return {
        "hostNetwork": True,
        "hostPID": True,
        "serviceAccountName": NAME,
        "terminationGracePeriodSeconds": 10,
        "containers": [_daemon(reference)],
        "initContainers": [_installer(reference)],
        "volumes": list(_VOLUMES),
    }


def _daemon(reference: str) -> Manifest:
    """Return the container of the daemon, which attaches pods to networks."""
    return {
        "name": "kube-multus",
        "image": reference,
        "command": ["/usr/src/multus-cni/bin/multus-daemon"],
        "env": [node_name("MULTUS_NODE_NAME")],
        **_PRIVILEGED,
        "resources": {"requests": REQUESTS, "limits": {"memory": MEMORY_LIMIT}},
        "volumeMounts": list(_MOUNTS),
    }


def _installer(reference: str) -> Manifest:
    """Return the init container, which puts the CNI plugin on the node."""
    return {
        "name": "install-multus-binary",
        "image": reference,
        "command": ["/usr/src/multus-cni/bin/install_multus", "-d", "/host/opt/cni/bin", "-t", "thick"],
        **_PRIVILEGED,
        "resources": {"requests": {"cpu": "10m", "memory": "15Mi"}},
        "volumeMounts": [mount("cnibin", "/host/opt/cni/bin", propagation="Bidirectional")],
    }


_PRIVILEGED: Manifest = {"securityContext": PRIVILEGED, "terminationMessagePolicy": "FallbackToLogsOnError"}
_MOUNTS = (
    mount("cni", "/host/etc/cni/net.d"),
    # The daemon needs the binaries at the same path as on the host.
    mount("cnibin", CNI_BINARIES),
    mount("host-run", "/host/run"),
    mount("host-var-lib-cni-multus", "/var/lib/cni/multus"),
    mount("host-var-lib-kubelet", "/var/lib/kubelet", propagation="HostToContainer"),
    mount("host-run-k8s-cni-cncf-io", "/run/k8s.cni.cncf.io"),
    mount("host-run-netns", "/run/netns", propagation="HostToContainer"),
    mount("config", "/etc/cni/net.d/multus.d", read_only=True),
    mount("hostroot", "/hostroot", propagation="HostToContainer"),
    mount("multus-conf-dir", "/etc/cni/multus/net.d"),
)
_VOLUMES = (
    from_host("cni", CNI_CONFIG),
    from_host("cnibin", CNI_BINARIES),
    from_host("hostroot", "/"),
    from_config("config", CONFIG_MAP, "daemon-config.json"),
    from_host("host-run", "/run"),
    from_host("host-var-lib-cni-multus", "/var/lib/cni/multus", "DirectoryOrCreate"),
    from_host("host-var-lib-kubelet", "/var/lib/kubelet"),
    from_host("host-run-k8s-cni-cncf-io", "/run/k8s.cni.cncf.io", "DirectoryOrCreate"),
    from_host("host-run-netns", "/run/netns", "DirectoryOrCreate"),
    from_host("multus-conf-dir", "/etc/cni/multus/net.d", "DirectoryOrCreate"),
)
