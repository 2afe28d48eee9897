"""Existing installations in a cluster, as Kubernetes objects: Helm's records, workloads, CRDs."""

import base64
import gzip
import json
from typing import Any

from mlcluster.plan import names

Object = dict[str, Any]
PASSWORD = "in-the-values-of-a-release"


def helm_record(
    name: str, namespace: str, chart: str, version: str, *,
    revision: int = 1, status: str = "deployed", cluster: str = "", kind: str = "Secret",
) -> Object:  # fmt: skip
    """A revision of a release as Helm stores it, with a password among its values."""
    chart_metadata = {"name": chart, "version": version, "appVersion": version}
    body = {"name": name, "config": {"password": PASSWORD}, "chart": {"metadata": chart_metadata}, "manifest": "---"}
    packed = base64.b64encode(gzip.compress(json.dumps(body).encode()))
    data = packed.decode() if kind == "ConfigMap" else base64.b64encode(packed).decode()
    labels = {"owner": "helm", "name": name, "status": status, "version": str(revision)}
    labels |= {names.CLUSTER: cluster} if cluster else {}
    metadata = {"name": f"sh.helm.release.v1.{name}.v{revision}", "namespace": namespace, "labels": labels}
    typed = {"type": "helm.sh/release.v1"} if kind == "Secret" else {}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "data": {"release": data}, **typed}


def workload(
    kind: str, name: str, namespace: str, image: str, *, release: str = "", manager: str = "", **metadata: Any
) -> Object:
    """A Deployment (without pods) or DaemonSet; `release` as NAMESPACE/NAME makes it Helm's."""
    pod = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "main", "image": image}]}}
    labels = metadata.pop("labels", {})
    annotations = metadata.pop("annotations", {}) | (annotated(release) if release else {})
    fields = [{"manager": manager, "operation": "Update"}] if manager else []
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {
            "name": name, "namespace": namespace, "labels": labels, "annotations": annotations,
            **({"managedFields": fields} if fields else {}), **metadata,
        },
        "spec": {
            "selector": {"matchLabels": {"app": name}}, "template": pod,
            **({"replicas": 0} if kind == "Deployment" else {}),
        },
    }  # fmt: skip


def annotated(release: str) -> dict[str, str]:
    """Return the labels and annotations that Helm writes on every object of a release."""
    namespace, _, name = release.partition("/")
    return {"meta.helm.sh/release-name": name, "meta.helm.sh/release-namespace": namespace}


def crd(name: str, kind: str, *, release: str = "", scope: str = "Cluster") -> Object:
    """A custom resource definition that an API server takes, `plural.group`."""
    plural, _, group = name.partition(".")
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spelled = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name, "annotations": annotated(release) if release else {}},
        "spec": {"group": group, "names": spelled, "scope": scope, "versions": [version]},
    }


def api_service(name: str, service: str = "", *, release: str = "") -> Object:
    """An API service, served by NAMESPACE/NAME, or by the API server itself."""
    version, _, group = name.partition(".")
    namespace, _, served_by = service.partition("/")
    asked = {"service": {"namespace": namespace, "name": served_by}} if service else {}
    spec = {"group": group, "version": version, "groupPriorityMinimum": 100, "versionPriority": 100, **asked}
    metadata = {"name": name, "annotations": annotated(release) if release else {}}
    return {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": metadata, "spec": spec}
