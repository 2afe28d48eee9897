"""Workloads that no chart renders, because an operator makes them when it runs: their shapes are declared."""

from collections.abc import Mapping

MADE_AT_RUN_TIME: Mapping[str, Mapping[str, str]] = {
    "gpu-operator": {
        "nvidia-*": "NVIDIA/gpu-operator v26.7.0, assets/state-*: daemon sets of the ClusterPolicy",
        "gpu-feature-discovery": "NVIDIA/gpu-operator v26.7.0, assets/gpu-feature-discovery",
    },
    "network-operator": {
        "*": "Mellanox/network-operator v26.4.1, manifests/: what the NicClusterPolicy starts",
    },
    "kube-prometheus-stack": {
        "prometheus-kube-prometheus-stack-prometheus": "prometheus-operator v0.93.1: from the Prometheus",
        "alertmanager-kube-prometheus-stack-alertmanager": "prometheus-operator v0.93.1: from the Alertmanager",
    },
    "gateway-helm": {
        "envoy-*": "envoyproxy/gateway, internal/infrastructure/kubernetes/proxy: one Deployment for each Gateway",
    },
}
"""Chart -> patterns of workload names -> where their shapes were read."""
