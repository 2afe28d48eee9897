"""Detection signatures, owners, and versions of installations."""

from typing import Any

import pytest

from mlcluster.catalog.signatures import all_signatures
from mlcluster.rules.cluster_facts import UNKNOWN, Maker, Named, Release, Seen, Workload
from mlcluster.rules.makers import maker_of
from mlcluster.rules.recognition import Installation, image_parts, match_signatures, version_of_label

pytestmark = pytest.mark.unit
GPU = Maker("helm", "gpu", "gpu-operator")
POLICY = Maker("controller", "cluster-policy", group="nvidia.com", owner_kind="ClusterPolicy")


def daemon_set(name: str, image: str, maker: Maker = UNKNOWN, **labels: str) -> Workload:
    return Workload("DaemonSet", "somewhere", name, (image,), maker, **labels)


def found_in(**seen: Any) -> dict[str, Installation]:
    return {one.name: one for one in match_signatures(Seen(**seen), all_signatures())}


@pytest.mark.parametrize(
    ("name", "image", "thing"),
    [
        ("nvidia-device-plugin-daemonset", "nvcr.io/nvidia/k8s-device-plugin:v0.17.0", "nvidia-device-plugin"),
        ("plugin", "registry.example.com/mirror/nvidia/k8s-device-plugin@sha256:0a", "nvidia-device-plugin"),
        ("nvidia-gpu-device-plugin-large-cos", "gke.gcr.io/nvidia-gpu-device-plugin:1", "nvidia-device-plugin"),
        ("gpu-feature-discovery", "nvcr.io/nvidia/k8s-device-plugin:v0.17.0", "gpu-feature-discovery"),
        ("nfd-worker", "registry.k8s.io/nfd/node-feature-discovery:v0.18.3", "node-feature-discovery"),
        ("kube-multus-ds", "ghcr.io/k8snetworkplumbingwg/multus-cni:v4.3.0-thick", "multus"),
        ("rke2-multus", "rancher/hardened-multus-cni:v4.2", "multus"),
        ("nvidia-dcgm-exporter", "nvcr.io/nvidia/k8s/dcgm-exporter:4.5.3-4.8.2-distroless", "dcgm-exporter"),
        ("kueue-controller-manager", "registry.k8s.io/kueue/kueue:v0.17.1", "kueue"),
        ("kps-prometheus-node-exporter", "quay.io/prometheus/node-exporter:v1.9", "node-exporter"),
        ("blue-aws-cluster-autoscaler", "registry.k8s.io/autoscaling/cluster-autoscaler:v1.34.0", "cluster-autoscaler"),
        ("efa", "602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin:v0.5.10",
         "aws-efa-k8s-device-plugin"),
    ],
)  # fmt: skip
def test_workloads(name: str, image: str, thing: str) -> None:
    assert list(found_in(workloads=(daemon_set(name, image),))) == [thing]


@pytest.mark.parametrize(
    ("name", "image"),
    [
        ("api", "registry.example.com/team/api:1"),
        ("my-karpenter-dashboard", "example.com/ui:2"),
        ("amd-device-plugin", "rocm/k8s-device-plugin:1.25"),
        ("kube-proxy", "registry.k8s.io/kube-proxy:v1.36.0"),
        ("network-operator", "quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:0a"),
    ],
)
def test_unrelated_objects_match_no_signature(name: str, image: str) -> None:
    assert found_in(workloads=(daemon_set(name, image),)) == {}


def test_a_release_and_its_workloads_are_one_installation() -> None:
    release = Release("gpu-operator", "gpu", "gpu-operator", "v26.3.3", "v26.3.3", "deployed")
    operator = Workload("Deployment", "gpu-operator", "gpu-operator", ("nvcr.io/nvidia/gpu-operator:v26.3.3",), GPU)
    (one,) = match_signatures(Seen(releases=(release,), workloads=(operator,)), all_signatures())
    assert (one.name, one.maker, one.version, one.version_kind) == ("gpu-operator", GPU, "v26.3.3", "chart")
    assert (one.where, one.running, one.workloads) == ("Helm release gpu-operator/gpu", True, True)


def test_objects_of_an_operator_are_part_of_its_installation() -> None:
    plugin = daemon_set("nvidia-device-plugin-daemonset", "nvcr.io/nvidia/k8s-device-plugin:v0.19.3", POLICY)
    one = found_in(workloads=(plugin,))["nvidia-device-plugin"]
    assert (one.part_of, one.version, one.version_kind) == ("gpu-operator", "v0.19.3", "image")


def test_a_subchart_is_part_of_its_release() -> None:
    release = Release("gpu-operator", "gpu", "gpu-operator", "v26.3.3", "v26.3.3", "deployed")
    worker = daemon_set("gpu-node-feature-discovery-worker", "registry.k8s.io/nfd/node-feature-discovery:v0.18.3", GPU)
    found = found_in(releases=(release,), workloads=(worker,))
    assert found["node-feature-discovery"].part_of == "gpu-operator"
    assert found["gpu-operator"].part_of == ""


def test_two_installations_stay_two() -> None:
    other = Maker("manager", "kubectl")
    image = "registry.k8s.io/kueue/kueue:v0.17.1"
    seen = Seen(workloads=tuple(daemon_set("kueue-controller-manager", image, maker) for maker in (GPU, other)))
    assert [one.maker for one in match_signatures(seen, all_signatures())] == [GPU, other]


def test_definitions_alone_do_not_run() -> None:
    left = Named("CustomResourceDefinition", "clusterpolicies.nvidia.com", UNKNOWN)
    one = found_in(crds=(left,))["gpu-operator"]
    assert (one.running, one.where) == (False, "CustomResourceDefinition clusterpolicies.nvidia.com")


def test_crds_add_no_installation_to_running_workloads() -> None:
    left = Named("CustomResourceDefinition", "clusterpolicies.nvidia.com", Maker("manager", "Helm"))
    operator = Workload("Deployment", "gpu-operator", "gpu-operator", ("nvcr.io/nvidia/gpu-operator:v26.3.3",), GPU)
    (one,) = match_signatures(Seen(workloads=(operator,), crds=(left,)), all_signatures())
    assert one.maker == GPU


def test_webhooks_without_a_workload_act() -> None:
    hook = Named("MutatingWebhookConfiguration", "kueue-mutating-webhook-configuration", UNKNOWN, "kueue-0.18.3")
    one = found_in(webhooks=(hook,))["kueue"]
    assert (one.running, one.workloads, one.version, one.version_kind) == (True, False, "0.18.3", "chart")


@pytest.mark.parametrize(
    ("name", "thing"),
    [
        ("v1beta1.external.metrics.k8s.io", "external-metrics"),
        ("v1beta2.custom.metrics.k8s.io", "custom-metrics"),
        ("v1beta1.metrics.k8s.io", "resource-metrics"),
    ],
)
def test_api_services(name: str, thing: str) -> None:
    service = Named("APIService", name, UNKNOWN, service="datadog/cluster-agent")
    assert list(found_in(api_services=(service,))) == [thing]


@pytest.mark.parametrize(
    ("label", "version"),
    [
        ("gpu-operator-v26.7.0", "v26.7.0"),
        ("kube-prometheus-stack-88.5.3", "88.5.3"),
        ("k8s-0-plugin-1.2.3-rc.1", "1.2.3-rc.1"),
        ("karpenter-1.0.0_build", "1.0.0+build"),
        ("kueue", ""),
        ("", ""),
    ],
)
def test_versions_of_chart_labels(label: str, version: str) -> None:
    assert version_of_label(label) == version


@pytest.mark.parametrize(
    ("image", "parts"),
    [
        ("a/b:1", ("a/b", "1")),
        ("localhost:5000/a/b", ("localhost:5000/a/b", "")),
        ("localhost:5000/a/b:v1@sha256:0a", ("localhost:5000/a/b", "v1")),
        ("b", ("b", "")),
    ],
)
def test_images(image: str, parts: tuple[str, str]) -> None:
    assert image_parts(image) == parts


def managed(*managers: str, status: bool = False) -> dict[str, Any]:
    more = {"subresource": "status"} if status else {}
    return {"managedFields": [{"manager": manager, **more} for manager in managers]}


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        ({"annotations": {"meta.helm.sh/release-name": "gpu", "meta.helm.sh/release-namespace": "ops"}},
         "Helm release ops/gpu"),
        ({"labels": {"app.kubernetes.io/managed-by": "mlcluster", "mlcluster.dev/cluster": "other"}},
         "mlcluster, cluster other"),
        (managed("eks"), "an EKS add-on"),
        ({"labels": {"addonmanager.kubernetes.io/mode": "Reconcile"}}, "GKE, which manages the cluster"),
        ({"labels": {"kubernetes.azure.com/managedby": "aks"},
          "annotations": {"meta.helm.sh/release-name": "aks-managed-keda"}}, "AKS, which manages the cluster"),
        ({"labels": {"olm.owner": "gpu-operator-certified.v26.3.3"}}, "OLM (gpu-operator-certified.v26.3.3)"),
        ({"labels": {"operators.coreos.com/nfd.openshift-nfd": ""}}, "OLM (nfd.openshift-nfd)"),
        ({"ownerReferences": [{"kind": "ClusterServiceVersion", "name": "nfd.v4", "controller": True,
                               "apiVersion": "operators.coreos.com/v1alpha1"}]}, "OLM (nfd.v4)"),
        ({"ownerReferences": [{"kind": "ClusterPolicy", "name": "cluster-policy", "controller": True,
                               "apiVersion": "nvidia.com/v1"}]}, "ClusterPolicy/cluster-policy"),
        ({"annotations": {"argocd.argoproj.io/tracking-id": "gpu-stack:apps/DaemonSet:ns/x"}}, "Argo CD (gpu-stack)"),
        (managed("argocd-controller"), "Argo CD"),
        ({"labels": {"kustomize.toolkit.fluxcd.io/name": "infra", "kustomize.toolkit.fluxcd.io/namespace": "flux"}},
         "Flux (flux/infra)"),
        (managed("kubectl-client-side-apply"), "kubectl"),
        (managed("kube-controller-manager", "HashiCorp"), "Terraform"),
        (managed("someone-else"), "someone-else"),
        (managed("kubelet", status=True), "an unknown client"),
        ({}, "an unknown client"),
    ],
)  # fmt: skip
def test_makers(metadata: dict[str, Any], text: str) -> None:
    assert maker_of(metadata).text == text


def test_every_component_of_the_catalog_has_signs() -> None:
    from mlcluster.plan.components.index import COMPONENTS

    assert set(COMPONENTS) <= set(all_signatures())
    for name, entry in all_signatures().items():
        assert entry.duties, name
        assert entry.charts or entry.images or entry.workloads or entry.api_services, name
