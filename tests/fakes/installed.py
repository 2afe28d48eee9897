"""Helm releases of components as they are in a cluster: workloads with Helm's notes, and what they register."""

from typing import Any

from mlcluster.catalog.residue import residue_of
from mlcluster.deploy.removal.namespaces import Installed
from mlcluster.plan import names
from tests.fakes.api_server import FakeApiServer

Object = dict[str, Any]


def release(name: str, namespace: str = "") -> Installed:
    """A release of ours, with the catalog's facts."""
    return Installed(name, namespace or f"{name}-system", residue_of(name))


def put(server: FakeApiServer, api_version: str, kind: str, name: str, **more: Any) -> Object:
    """An object: `namespace`, `labels`, `annotations`, `finalizers` and `deletionTimestamp` go into its metadata."""
    keys = ("namespace", "labels", "annotations", "finalizers", "deletionTimestamp")
    metadata = {"name": name, **{key: more.pop(key) for key in keys if key in more}}
    return server.put({"apiVersion": api_version, "kind": kind, "metadata": metadata, **more})


def notes(of: Installed) -> Object:
    """What Helm writes on everything that it makes."""
    return {"meta.helm.sh/release-name": of.name, "meta.helm.sh/release-namespace": of.namespace}


def put_controller(server: FakeApiServer, of: Installed, *, ready: int = 1, wanted: int = 1) -> None:
    """Its Deployment, with so many ready replicas."""
    put(server, "v1", "Namespace", of.namespace)
    more: Object = {"spec": {"replicas": wanted}, "status": {"readyReplicas": ready}, "annotations": notes(of)}
    put(server, "apps/v1", "Deployment", f"{of.name}-manager", namespace=of.namespace, **more)


def put_service(server: FakeApiServer, of: Installed, *, answers: bool) -> None:
    """The Service of its webhook."""
    put(server, "v1", "Service", "webhook", namespace=of.namespace, annotations=notes(of))
    labels = {"kubernetes.io/service-name": "webhook"}
    endpoints = [{"addresses": ["10.0.0.1"], "conditions": {"ready": True}}] if answers else []
    more = {"labels": labels, "endpoints": endpoints}
    put(server, "discovery.k8s.io/v1", "EndpointSlice", "webhook-1", namespace=of.namespace, **more)


def serve(server: FakeApiServer, kind: str, plural: str, *, scope: str = "Namespaced", **metadata: Any) -> str:
    """Serves a kind (apiVersion/Kind); the name of its definition."""
    group, version, name = kind.split("/")
    spec = {"group": group, "scope": scope, "names": {"plural": plural, "kind": name}, "versions": [{"name": version}]}
    crd = f"{plural}.{group}"
    put(server, "apiextensions.k8s.io/v1", "CustomResourceDefinition", crd, spec=spec, **metadata)
    return crd


def put_team(server: FakeApiServer, name: str, cluster: str = "atlas") -> None:
    """A team's namespace, as the plan makes it."""
    put(server, "v1", "Namespace", name, labels={**names.owned(cluster), names.TEAM: name})
