"""The maker of an object, from owner references, labels, annotations and field managers."""

from collections.abc import Mapping
from typing import Any

from mlcluster.plan import names
from mlcluster.rules.cluster_facts import UNKNOWN, Maker

_KNOWN_MANAGERS = {
    "kubectl-client-side-apply": "kubectl",
    "kubectl-create": "kubectl",
    "kubectl": "kubectl",
    "helm": "Helm",
    "HashiCorp": "Terraform",
    "Terraform": "Terraform",
    "pulumi-kubernetes": "Pulumi",
    "mlcluster-lab": "the lab",
    "OpenAPI-Generator": "a program",
    "Go-http-client": "a program",
    "unknown": "",
}
_CONTROL_PLANE = frozenset({"kube-controller-manager", "kube-apiserver", "kube-scheduler"})


def maker_of(metadata: Mapping[str, Any]) -> Maker:
    """Return the maker of the object with this metadata."""
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    return (
        _owner(metadata)
        or _mlcluster(labels)
        or _cloud(labels, annotations, metadata)
        or _operator_lifecycle(labels)
        or _helm(annotations)
        or _gitops(labels, annotations, metadata)
        or _manager(metadata)
        or UNKNOWN
    )


def _owner(metadata: Mapping[str, Any]) -> Maker | None:
    for entry in metadata.get("ownerReferences") or []:
        if entry.get("controller"):
            group = str(entry.get("apiVersion", "")).rpartition("/")[0]
            if entry.get("kind") == "ClusterServiceVersion":
                return Maker("olm", str(entry.get("name", "")))
            return Maker("controller", str(entry.get("name")), group=group, owner_kind=str(entry.get("kind")))
    return None


def _mlcluster(labels: Mapping[str, str]) -> Maker | None:
    if labels.get(names.MANAGED_BY) == names.MANAGER and labels.get(names.CLUSTER):
        return Maker("mlcluster", labels[names.CLUSTER])
    return None


def _cloud(labels: Mapping[str, str], annotations: Mapping[str, str], metadata: Mapping[str, Any]) -> Maker | None:
    """Return the cloud provider: EKS add-ons have the field manager `eks`; GKE and AKS set labels."""
    if "eks" in _managers(metadata):
        return Maker("eksAddon")
    if "kubernetes.azure.com/managedby" in labels:
        return Maker("cloud", "AKS")
    if "addonmanager.kubernetes.io/mode" in labels or "components.gke.io/component-name" in annotations:
        return Maker("cloud", "GKE")
    return None


def _operator_lifecycle(labels: Mapping[str, str]) -> Maker | None:
    if "olm.owner" in labels:
        return Maker("olm", labels["olm.owner"])
    marked = [key for key in labels if key.startswith("operators.coreos.com/")]
    return Maker("olm", marked[0].partition("/")[2]) if marked else None


def _helm(annotations: Mapping[str, str]) -> Maker | None:
    name = annotations.get("meta.helm.sh/release-name")
    return Maker("helm", name, annotations.get("meta.helm.sh/release-namespace", "")) if name else None


def _gitops(labels: Mapping[str, str], annotations: Mapping[str, str], metadata: Mapping[str, Any]) -> Maker | None:
    tracked = annotations.get("argocd.argoproj.io/tracking-id", "").partition(":")[0]
    tracked = tracked or labels.get("argocd.argoproj.io/instance", "")
    if tracked or "argocd-controller" in _managers(metadata):
        return Maker("argoCd", tracked)
    for prefix in ("kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io"):
        if f"{prefix}/name" in labels:
            return Maker("flux", f"{labels.get(f'{prefix}/namespace', '')}/{labels[f'{prefix}/name']}")
    return None


def _manager(metadata: Mapping[str, Any]) -> Maker | None:
    for manager in _managers(metadata):
        if manager not in _CONTROL_PLANE and (name := _KNOWN_MANAGERS.get(manager, manager)):
            return Maker("manager", name)
    return None


def _managers(metadata: Mapping[str, Any]) -> list[str]:
    """Return the field managers of the object, without those of its status."""
    fields = metadata.get("managedFields") or []
    return [str(entry["manager"]) for entry in fields if entry.get("manager") and not entry.get("subresource")]
