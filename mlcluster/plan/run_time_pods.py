"""Workloads that no chart renders, because an operator makes them when it runs: their shapes stay declared."""

from collections.abc import Mapping
from fnmatch import fnmatchcase

from mlcluster.plan.model import PlanPod

MADE_AT_RUN_TIME: Mapping[str, Mapping[str, str]] = {
    "gpu-operator": {
        "nvidia-*": "NVIDIA/gpu-operator v26.7.0, assets/state-* and validator/manifests: by the ClusterPolicy",
        "gpu-feature-discovery": "NVIDIA/gpu-operator v26.7.0, assets/gpu-feature-discovery",
    },
    "network-operator": {
        "rdma-shared-dp-ds": "Mellanox/network-operator v26.4.1, manifests/state-rdma-shared-device-plugin",
        "network-operator-sriov-device-plugin": "Mellanox/network-operator v26.4.1, pkg/state/state_sriov_dp.go",
        "kube-*-ds": "Mellanox/network-operator v26.4.1, manifests/state-multus-cni and state-ipoib-cni",
        "cni-plugins-ds": "Mellanox/network-operator v26.4.1, manifests/state-container-networking-plugins",
        "nv-ipam-*": "Mellanox/network-operator v26.4.1, manifests/state-nv-ipam-cni",
        "mofed-*-ds": "Mellanox/network-operator v26.4.1, manifests/state-ofed-driver",
    },
    "kube-prometheus-stack": {
        "prometheus-*": "prometheus-operator v0.93.1: the StatefulSet of a Prometheus",
        "alertmanager-*": "prometheus-operator v0.93.1: the StatefulSet of an Alertmanager",
    },
    "envoy-gateway": {
        "envoy-kserve-*": (
            "envoyproxy/gateway, api/v1alpha1 and internal/infrastructure/kubernetes/proxy: a Deployment for each "
            "Gateway; by default envoy 100m, 512Mi and shutdown-manager 10m, 32Mi, together 110m, 544Mi"
        ),
    },
}
"""Name of a release -> patterns (`*`) of workload names -> where their shapes were read."""


def made_at_run_time(pod: PlanPod) -> bool:
    """Return whether an operator makes the workload of a pod, and no chart."""
    patterns = MADE_AT_RUN_TIME.get(pod.owner.name, {})
    return any(fnmatchcase(pod.name, pattern) for pattern in patterns)
