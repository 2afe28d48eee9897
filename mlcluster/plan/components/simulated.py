"""Simulated components: on `local`, the pods and CRDs of a component whose controller does not run there.

A Deployment or DaemonSet with the selectors, tolerations, requests and priority of each pod simulates the pods, and the
real scheduler places them on simulated nodes. mlcluster applies the custom resources: a CRD that accepts every field
replaces the real CRD. `plan.simulated_nodes` has the component's effects on nodes.
"""

from collections.abc import Iterable
from dataclasses import replace

from mlcluster.plan import names
from mlcluster.plan.model import Manifest, PlanObject, PlanPod, PlanRelease
from mlcluster.plan.objects import make
from mlcluster.plan.taints import toleration_manifests
from mlcluster.quantities import canonical

SIMULATED = f"{names.DOMAIN}/simulated"
HELM_RELEASE = "app.kubernetes.io/instance"
"""The label in which charts record the release of a workload."""

IMAGE = "registry.k8s.io/pause:3.10.1"
"""The image of simulated pods, which is never pulled: the lab has no kubelet."""

BUILT_IN = frozenset(
    {
        "",
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "apps",
        "autoscaling",
        "batch",
        "flowcontrol.apiserver.k8s.io",
        "networking.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "resource.k8s.io",
        "scheduling.k8s.io",
        "storage.k8s.io",
    }
)
"""API groups that every API server has."""


def simulated_pods(
    cluster: str, pods: Iterable[PlanPod], releases: Iterable[PlanRelease]
) -> dict[str, list[PlanObject]]:
    """Return a workload for each pod of a simulated release, by the id of the release."""
    simulated = {release.id: release for release in releases if release.realisation == "simulated"}
    made: dict[str, list[PlanObject]] = {}
    seen: set[tuple[str, str]] = set()
    for pod in pods:
        if pod.owner.id not in simulated or pod.kind == "Job":  # Helm hooks do not run on the lab
            continue
        base = pod.name or simulated[pod.owner.id].name
        pool = pod.pool if pod.kind == "DaemonSet" else ""
        name = f"{base}-{pool}" if pool else base
        while (pod.namespace, name) in seen:
            name = f"{name}-x"
        seen.add((pod.namespace, name))
        made.setdefault(pod.owner.id, []).append(_workload(cluster, pod, name, simulated[pod.owner.id].name))
    return made


def simulated_crds(cluster: str, objects: Iterable[PlanObject], releases: Iterable[PlanRelease]) -> list[PlanObject]:
    """Return a CRD for each kind of custom resource whose CRD comes with a simulated release."""
    simulated = {release.id for release in releases if release.realisation == "simulated"}
    kinds: dict[tuple[str, str], PlanObject] = {}
    for entry in objects:
        group, _, version = entry.manifest["apiVersion"].rpartition("/")
        if group not in BUILT_IN and simulated.intersection(entry.needs):
            kinds.setdefault((group, entry.manifest["kind"]), _crd(cluster, group, version, entry))
    return list(kinds.values())


def _workload(cluster: str, pod: PlanPod, name: str, release: str) -> PlanObject:
    labels = {"app.kubernetes.io/name": name}
    requests = {key: canonical(key, amount) for key, amount in pod.requests.items() if key != "pods"}
    template: Manifest = {
        "metadata": {"labels": labels, "annotations": {SIMULATED: "true"}},
        "spec": {
            "containers": [{"name": "stand-in", "image": IMAGE, "resources": {"requests": requests}}],
            "nodeSelector": dict(pod.node_selector),
            "tolerations": toleration_manifests(pod.tolerations),
            "priorityClassName": pod.priority_class,
            "affinity": {**(_apart(labels) if pod.apart else {}), **_kept_off(pod.not_on)},
        },
    }
    spec: Manifest = {"selector": {"matchLabels": labels}, "template": _present(template)}
    if pod.kind != "DaemonSet":
        spec["replicas"] = pod.replicas
    kind = "DaemonSet" if pod.kind == "DaemonSet" else "Deployment"
    made = make(
        cluster,
        "apps/v1",
        kind,
        name,
        {"spec": spec},
        namespace=pod.namespace,
        labels={HELM_RELEASE: release},
        annotations={SIMULATED: "true"},
        spec_path=pod.spec_path,
        pool=pod.pool,
    )
    return replace(made, component=pod.component)


def _apart(labels: dict[str, str]) -> Manifest:
    """Return the anti-affinity that keeps pods with these labels on different nodes."""
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _kept_off(pools: Iterable[str]) -> Manifest:
    """Return the node affinity that excludes the nodes of these pools; {} without pools."""
    refused = list(pools)
    if not refused:
        return {}
    term = {"matchExpressions": [{"key": names.POOL, "operator": "NotIn", "values": refused}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def _present(template: Manifest) -> Manifest:
    """Return the template without empty fields, which the API server would drop."""
    spec = {key: value for key, value in template["spec"].items() if value not in ({}, [], "")}
    return {**template, "spec": spec}


def _crd(cluster: str, group: str, version: str, entry: PlanObject) -> PlanObject:
    kind = entry.manifest["kind"]
    plural = _plural(kind.lower())
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    body: Manifest = {
        "spec": {
            "group": group,
            "scope": "Namespaced" if "namespace" in entry.manifest["metadata"] else "Cluster",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        }
    }
    return make(
        cluster,
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        f"{plural}.{group}",
        body,
        annotations={SIMULATED: "true", **_approval(group)},
        spec_path=entry.spec_path,
    )


def _approval(group: str) -> dict[str, str]:
    """Return the annotation that the API server requires of a CRD in a group of Kubernetes (KEP 1111)."""
    protected = group.endswith((".k8s.io", ".kubernetes.io"))
    return {"api-approved.kubernetes.io": "unapproved, stands in for the real one"} if protected else {}


def _plural(singular: str) -> str:
    if singular.endswith("y") and singular[-2] not in "aeiou":
        return f"{singular[:-1]}ies"
    return f"{singular}es" if singular.endswith("s") else f"{singular}s"
