"""State of a Helm release's controllers: running, down, or gone. Helm labels every object that it makes."""

from typing import Any, Literal

from mlcluster.kube.client import Kube
from mlcluster.kube.errors import ApiError

Object = dict[str, Any]
State = Literal["runs", "down", "gone"]
"""down: it exists and is not ready, so it may come back; gone: nobody is left who could."""

CRD_KIND = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
_CONTROLLERS = (("apps/v1", "Deployment"), ("apps/v1", "StatefulSet"))


def state_of(kube: Kube, namespace: str, release: str) -> State:
    """What has become of the programs of a release, by its workloads and the endpoints of its Services."""
    found = [
        item for kind in _CONTROLLERS for item in listed(kube, *kind, namespace) if is_of(item, namespace, release)
    ]
    wanted = [item for item in found if (item.get("spec") or {}).get("replicas", 1)]
    if any((item.get("status") or {}).get("readyReplicas") for item in wanted) or _answers(kube, namespace, release):
        return "runs"
    return "down" if wanted else "gone"


def is_of(item: Object, namespace: str, release: str) -> bool:
    """Whether Helm made the object for this release."""
    annotations = item["metadata"].get("annotations") or {}
    owner = annotations.get("meta.helm.sh/release-namespace"), annotations.get("meta.helm.sh/release-name")
    return owner == (namespace, release)


def owner_of(item: Object) -> str:
    """NAMESPACE/NAME of the release that Helm made the object for, "" when it did not."""
    annotations = item["metadata"].get("annotations") or {}
    name = annotations.get("meta.helm.sh/release-name")
    return f"{annotations.get('meta.helm.sh/release-namespace')}/{name}" if name else ""


def listed(
    kube: Kube, api_version: str, kind: str, namespace: str | None = None, label_selector: str = ""
) -> list[Object]:
    """The objects of a kind; [] where the kind does not exist."""
    try:
        return kube.list(api_version, kind, namespace, label_selector)
    except ApiError as error:
        if error.status == 404:
            return []
        raise


def served_version(crd: Object) -> str:
    """The apiVersion under which the objects of a definition can be asked for."""
    spec = crd["spec"]
    version = next(entry["name"] for entry in spec["versions"] if entry.get("served", True))
    return f"{spec['group']}/{version}"


def _answers(kube: Kube, namespace: str, release: str) -> bool:
    services = {
        item["metadata"]["name"] for item in listed(kube, "v1", "Service", namespace) if is_of(item, namespace, release)
    }
    return any(
        (endpoint.get("conditions") or {}).get("ready") is not False
        for item in listed(kube, "discovery.k8s.io/v1", "EndpointSlice", namespace)
        if (item["metadata"].get("labels") or {}).get("kubernetes.io/service-name") in services
        for endpoint in item.get("endpoints") or []
    )
