"""Versions of what we install, each with where it comes from. Bump them here and nowhere else."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChartPin:
    """A chart at one exact version.

    Attributes:
        chart: chart name, or the whole reference of an OCI chart.
        repository: URL of the chart repository; "" for OCI.
        source: where the facts about it were read.
    """

    name: str
    chart: str
    version: str
    repository: str
    namespace: str
    source: str


KUEUE = ChartPin(
    name="kueue",
    chart="oci://registry.k8s.io/kueue/charts/kueue",
    version="0.18.3",
    repository="",
    namespace="kueue-system",
    source="sigs.k8s.io/kueue v0.18.3, charts/kueue",
)

KARPENTER_CRD = ChartPin(
    name="karpenter-crd",
    chart="oci://public.ecr.aws/karpenter/karpenter-crd",
    version="1.14.1",
    repository="",
    namespace="kube-system",
    source="aws/karpenter-provider-aws v1.14.1, charts/karpenter-crd",
)
"""A chart of its own, because a chart's crds/ folder is never upgraded; before KARPENTER."""

KARPENTER = ChartPin(
    name="karpenter",
    chart="oci://public.ecr.aws/karpenter/karpenter",
    version="1.14.1",
    repository="",
    namespace="kube-system",
    source="aws/karpenter-provider-aws v1.14.1, charts/karpenter",
)

CLUSTER_AUTOSCALER = ChartPin(
    name="cluster-autoscaler",
    chart="cluster-autoscaler",
    version="9.59.0",
    repository="https://kubernetes.github.io/autoscaler",
    namespace="kube-system",
    source="kubernetes/autoscaler at 55c37cd (2026-08-22), cluster-autoscaler/charts/cluster-autoscaler",
)
"""Its image tag is the cluster's own minor: `EksVersion.cluster_autoscaler`."""

EFA_DEVICE_PLUGIN = ChartPin(
    name="aws-efa-k8s-device-plugin",
    chart="aws-efa-k8s-device-plugin",
    version="v0.5.30",
    repository="https://aws.github.io/eks-charts",
    namespace="kube-system",
    source="aws/eks-charts at 5239609 (2026-08-03), stable/aws-efa-k8s-device-plugin",
)

NVIDIA_DEVICE_PLUGIN = ChartPin(
    name="nvidia-device-plugin",
    chart="nvidia-device-plugin",
    version="0.20.0",
    repository="https://nvidia.github.io/k8s-device-plugin",
    namespace="kube-system",
    source="NVIDIA/k8s-device-plugin v0.20.0, deployments/helm/nvidia-device-plugin",
)
"""For nodes whose AMI brings none (AL2023); the published chart's version has no leading v."""

LAB_KUBERNETES = "1.36"
"""Minor version of the lab's control plane: k8s.io/kubernetes in lab/toolchain/go.mod."""
