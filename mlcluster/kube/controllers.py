"""The state of a Helm release's controllers. Helm labels every object that it creates."""

from typing import Any, Literal

from mlcluster.kube.client import Kube
from mlcluster.kube.errors import ApiError

Object = dict[str, Any]
State = Literal["runs", "down", "gone"]
"""runs: ready; down: the workloads exist and can become ready again; gone: the workloads do not exist."""

CRD_KIND = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
_CONTROLLERS = (("apps/v1", "Deployment"), ("apps/v1", "StatefulSet"))


def state_of(kube: Kube, namespace: str, release: str) -> State:
    """Return the state of a release's controllers, from its workloads and the endpoints of its Services."""
    found = [
        item
        for kind in _CONTROLLERS
        for item in list_if_served(kube, *kind, namespace)
        if is_of(item, namespace, release)
    ]
    wanted = [item for item in found if (item.get("spec") or {}).get("replicas", 1)]
    if any((item.get("status") or {}).get("readyReplicas") for item in wanted) or _has_endpoints(
        kube, namespace, release
    ):
        return "runs"
    return "down" if wanted else "gone"


def is_of(item: Object, namespace: str, release: str) -> bool:
    """Return whether Helm created the object for this release."""
    annotations = item["metadata"].get("annotations") or {}
    owner = annotations.get("meta.helm.sh/release-namespace"), annotations.get("meta.helm.sh/release-name")
    return owner == (namespace, release)


def owner_of(item: Object) -> str:
    """Return NAMESPACE/NAME of the release that Helm created the object for; "" for other objects."""
    annotations = item["metadata"].get("annotations") or {}
    name = annotations.get("meta.helm.sh/release-name")
    return f"{annotations.get('meta.helm.sh/release-namespace')}/{name}" if name else ""


def list_if_served(
    kube: Kube, api_version: str, kind: str, namespace: str | None = None, label_selector: str = ""
) -> list[Object]:
    """Return the objects of a kind; [] if the kind does not exist."""
    try:
        return kube.list(api_version, kind, namespace, label_selector)
    except ApiError as error:
        if error.status == 404:
            return []
        raise


def served_version(crd: Object) -> str:
    """Return an apiVersion that serves the objects of a CRD."""
    spec = crd["spec"]
    version = next(entry["name"] for entry in spec["versions"] if entry.get("served", True))
    return f"{spec['group']}/{version}"


def _has_endpoints(kube: Kube, namespace: str, release: str) -> bool:
    services = {
        item["metadata"]["name"]
        for item in list_if_served(kube, "v1", "Service", namespace)
        if is_of(item, namespace, release)
    }
    return any(
        (endpoint.get("conditions") or {}).get("ready") is not False
        for item in list_if_served(kube, "discovery.k8s.io/v1", "EndpointSlice", namespace)
        if (item["metadata"].get("labels") or {}).get("kubernetes.io/service-name") in services
        for endpoint in item.get("endpoints") or []
    )
