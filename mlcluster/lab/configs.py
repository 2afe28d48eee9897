"""Configuration documents of the lab's processes, as data. The files are JSON, which is valid YAML."""

import base64
import json
from typing import Any

from mlcluster.lab.layout import Layout
from mlcluster.lab.ports import LOOPBACK
from mlcluster.lab.stages import stages

Document = dict[str, Any]

NODE_LABEL = ("type", "kwok")
"""Label and value of the nodes that kwok keeps alive."""


def kubeconfig(user: str, server: str, authority: bytes, certificate: bytes, key: bytes) -> Document:
    """Return a kubeconfig with one context `lab` and the private key."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "lab",
        "clusters": [{"name": "lab", "cluster": {"server": server, "certificate-authority-data": _text(authority)}}],
        "users": [
            {"name": user, "user": {"client-certificate-data": _text(certificate), "client-key-data": _text(key)}}
        ],
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": user}}],
    }


def kubeconfig_with_token(user: str, server: str, authority: bytes, token: str) -> Document:
    """Return a kubeconfig with a token instead of a certificate."""
    made = kubeconfig(user, server, authority, b"", b"")
    return {**made, "users": [{"name": user, "user": {"token": token}}]}


def scheduler(layout: Layout) -> Document:
    """Return the default configuration of the scheduler with a fast client and retries after at most 5 s."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {
            "kubeconfig": str(layout.kubeconfig("scheduler")),
            "qps": 2000,
            "burst": 4000,
            "contentType": "application/vnd.kubernetes.protobuf",
        },
        "leaderElection": {"leaderElect": False},
        "podMaxBackoffSeconds": 5,
        "enableProfiling": False,
    }


def kwok() -> list[Document]:
    """Return the options of kwok, then its stages.

    With a lease duration of 0, kwok writes no node leases. A node port other than 0 would open a port on every address
    of this machine.
    """
    label, value = NODE_LABEL
    options = {
        "manageNodesWithLabelSelector": f"{label}={value}",
        "cidr": "10.0.0.0/8",
        "nodeIP": LOOPBACK,
        "nodePort": 0,
        "nodePlayStageParallelism": 16,
        "podPlayStageParallelism": 32,
        "nodeLeaseParallelism": 16,
        "nodeLeaseDurationSeconds": 0,
    }
    head = {"apiVersion": "config.kwok.x-k8s.io/v1alpha1", "kind": "KwokConfiguration", "options": options}
    return [head, *stages()]


def kwok_rights() -> list[Document]:
    """Return the ClusterRole and binding of the group `lab:simulators`."""
    rules = [
        _rule("", ["nodes"], ["get", "list", "watch", "update", "patch"]),
        _rule("", ["nodes/status", "pods/status"], ["update", "patch"]),
        _rule("", ["pods"], ["get", "list", "watch", "update", "patch", "delete"]),
        _rule("", ["events"], ["create", "patch", "update"]),
        _rule("events.k8s.io", ["events"], ["create", "patch", "update"]),
        _rule("coordination.k8s.io", ["leases"], ["get", "list", "watch", "create", "update", "patch", "delete"]),
    ]
    group, name = "rbac.authorization.k8s.io", "lab:kwok"
    role = {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": group, "kind": "Group", "name": "lab:simulators"}],
    }
    return [role, binding]


def as_yaml(*documents: Document) -> bytes:
    """Return the documents as the content of one file."""
    return "\n---\n".join(json.dumps(document, indent=1) for document in documents).encode() + b"\n"


def _rule(group: str, resources: list[str], verbs: list[str]) -> Document:
    return {"apiGroups": [group], "resources": resources, "verbs": verbs}


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()
