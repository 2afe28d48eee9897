"""Kueue's kinds on the in-memory API server, and objects as its controller would leave them."""

from typing import Any

from mlcluster.plan import names
from mlcluster.plan.objects import KUEUE_API
from tests.fakes.api_server import FakeApiServer

_KINDS = {
    "ClusterQueue": "Cluster",
    "Cohort": "Cluster",
    "LocalQueue": "Namespaced",
    "ResourceFlavor": "Cluster",
    "Workload": "Namespaced",
    "WorkloadPriorityClass": "Cluster",
}
_ADMISSION = {"ValidatingAdmissionPolicy": "policies", "ValidatingAdmissionPolicyBinding": "policybindings"}


def server_with_kueue() -> FakeApiServer:
    """A server that serves Kueue's kinds and the kinds of admission policies and volumes."""
    server = FakeApiServer()
    for kind, scope in _KINDS.items():
        _serve(server, KUEUE_API, kind, f"{kind.lower()}s", scope)
    for kind, ending in _ADMISSION.items():
        _serve(server, "admissionregistration.k8s.io/v1", kind, f"validatingadmission{ending}", "Cluster")
    return server


def _serve(server: FakeApiServer, api_version: str, kind: str, plural: str, scope: str) -> None:
    group, _, version = api_version.partition("/")
    spec = {"group": group, "scope": scope, "names": {"plural": plural, "kind": kind}, "versions": [{"name": version}]}
    server.put({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"}, "spec": spec,
    })  # fmt: skip


def put_queue(server: FakeApiServer, name: str, *, active: bool = True, cluster: str = "atlas", **status: Any) -> None:
    """Return a managed ClusterQueue."""
    told = {"type": "Active", "status": str(active), "message": "Can admit" if active else "flavor [train] is missing"}
    server.put({
        "apiVersion": KUEUE_API, "kind": "ClusterQueue",
        "metadata": {"name": name, "labels": names.owned(cluster)},
        "spec": {}, "status": {"conditions": [told], **status},
    })  # fmt: skip


def put_node(server: FakeApiServer, name: str, *, pool: str = "", ready: bool = True, cluster: str = "atlas") -> None:
    """Return a managed node, optionally of a pool."""
    labels = {names.POOL: pool} if pool else {}
    condition = {"type": "Ready", "status": str(ready)}
    server.put({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {**names.owned(cluster), **labels}},
        "status": {"conditions": [condition]},
    })  # fmt: skip


def put_pod(server: FakeApiServer, name: str, namespace: str, phase: str = "Running") -> None:
    """A pod in a phase."""
    server.put({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace},
        "status": {"phase": phase},
    })  # fmt: skip


def put_job(server: FakeApiServer, name: str, namespace: str, **status: Any) -> None:
    """A job with a status."""
    server.put({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": namespace}, "status": status,
    })  # fmt: skip


def put_claim(server: FakeApiServer, name: str, namespace: str) -> None:
    """A volume claim."""
    server.put({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": namespace},
    })  # fmt: skip
