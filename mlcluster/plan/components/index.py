"""Every component that there is: where it is planned, when it is wanted, what it needs, what it comes after."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from pydantic.alias_generators import to_camel

from mlcluster.plan import names
from mlcluster.plan.components.component import Contribution
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.model import Pool
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.gpu_duties import operator_wanted
from mlcluster.spec.secondary import networks, readiness_wanted

Wanted = Callable[[ClusterSpec, tuple[Pool, ...]], str]
"""The place in the spec that asks for a component, "" where nothing does."""

Requires = Callable[[ClusterSpec], tuple[str, ...]]


def _requires_nothing(_: ClusterSpec) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class Entry:
    """One component.

    Attributes:
        module: name of its module in this package; it is loaded only where the component is wanted.
        attribute: its field of the spec's `components`; "" for what another part of the spec asks for.
        wanted: says whether, and where, the spec asks for it.
        requires: components that are installed with it.
        after: components that it comes after, where they are.
    """

    module: str
    attribute: str
    wanted: Wanted
    requires: Requires = _requires_nothing
    after: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """What the spec calls it under `components`: gpuOperator."""
        return to_camel(self.attribute)

    def contribute(self, context: ComponentContext) -> Contribution:
        """What the component adds to the plan."""
        module = importlib.import_module(f"mlcluster.plan.components.{self.module}")
        return cast("Contribution", module.contribute(context))


def _asked(attribute: str) -> Wanted:
    """Wanted where the spec has it under `components`."""
    key = to_camel(attribute)

    def wanted(spec: ClusterSpec, _: tuple[Pool, ...]) -> str:
        return f"components.{key}" if getattr(spec.components, attribute) is not None else ""

    return wanted


def _gpu_operator(spec: ClusterSpec, pools: tuple[Pool, ...]) -> str:
    """By default on `eks`, for the pools with GPUs, unless the device plugin alone is asked for."""
    if spec.components.gpu_operator is not None:
        return "components.gpuOperator"
    return next((pool.spec_path for pool in pools if operator_wanted(spec) and pool.accelerator is not None), "")


def _efa_device_plugin(spec: ClusterSpec, pools: tuple[Pool, ...]) -> str:
    """By default on `eks`, for the pools with EFA."""
    if spec.components.efa_device_plugin is not None:
        return "components.efaDevicePlugin"
    if spec.target.kind != "eks":
        return ""
    return next((f"{pool.spec_path}.network.efa" for pool in pools if names.EFA_RESOURCE in pool.allocatable), "")


def _multus_parts(kind: str) -> Wanted:
    """Asked for, or where a secondary network needs it.

    Args:
        kind: what a network says that needs the component: the type of its addresses, or its own.
    """
    attribute = {"whereabouts": "whereabouts", "sriov": "sriov_device_plugin"}[kind]

    def wanted(spec: ClusterSpec, pools: tuple[Pool, ...]) -> str:
        first = next(
            (
                f"components.multus.networks[{index}]"
                for index, network in enumerate(networks(spec))
                if kind in {network.type.removeprefix("ib-"), network.ipam.type if network.ipam else ""}
            ),
            "",
        )
        return _asked(attribute)(spec, pools) or first

    return wanted


def _node_readiness(spec: ClusterSpec, pools: tuple[Pool, ...]) -> str:
    """Asked for, or for the nodes of secondary networks."""
    asked = _asked("node_readiness")(spec, pools)
    return asked or ("components.multus.networks" if readiness_wanted(spec) else "")


def _autoscaler(which: str) -> Wanted:
    def wanted(spec: ClusterSpec, _: tuple[Pool, ...]) -> str:
        return "target.autoscaler" if spec.target.kind == "eks" and spec.target.autoscaler == which else ""

    return wanted


def _kserve_requires(spec: ClusterSpec) -> tuple[str, ...]:
    """Certificates for its webhooks; the gateway where models are reached from outside."""
    kserve = spec.components.kserve
    return ("cert-manager", "envoy-gateway") if kserve and kserve.ingress else ("cert-manager",)


def _always(spec: ClusterSpec, pools: tuple[Pool, ...]) -> str:
    del spec, pools
    return "components.kueue"


_CONTROLLERS = (
    "cert-manager",
    "envoy-gateway",
    "kube-prometheus-stack",
    "network-operator",
    "gpu-operator",
    "nvidia-device-plugin",
    "dcgm-exporter",
    "dra-driver-nvidia-gpu",
    "rdma-shared-device-plugin",
    "sriov-network-device-plugin",
    "multus",
    "whereabouts",
    "aws-efa-k8s-device-plugin",
    "cluster-autoscaler",
    "karpenter",
    "node-readiness-controller",
    "node-problem-detector",
    "keda",
    "prometheus-adapter",
    "jobset",
    "kubeflow-trainer",
    "mpi-operator",
    "kuberay-operator",
    "lws",
    "volcano",
    "kserve",
)

COMPONENTS: Mapping[str, Entry] = {
    "cert-manager": Entry("cert_manager", "cert_manager", _asked("cert_manager")),
    "kube-prometheus-stack": Entry("monitoring", "monitoring", _asked("monitoring")),
    "cluster-autoscaler": Entry("cluster_autoscaler", "", _autoscaler("clusterAutoscaler")),
    "karpenter": Entry("karpenter", "", _autoscaler("karpenter")),
    "node-readiness-controller": Entry(
        "node_readiness", "node_readiness", _node_readiness, requires=lambda _: ("node-problem-detector",)
    ),
    "node-problem-detector": Entry("node_problem_detector", "node_problem_detector", _asked("node_problem_detector")),
    "network-operator": Entry(
        "network_operator", "network_operator", _asked("network_operator"), after=("kube-prometheus-stack",)
    ),
    "gpu-operator": Entry(
        "gpu_operator", "gpu_operator", _gpu_operator, after=("kube-prometheus-stack", "network-operator")
    ),
    "nvidia-device-plugin": Entry(
        "nvidia_device_plugin", "nvidia_device_plugin", _asked("nvidia_device_plugin"), after=("gpu-operator",)
    ),
    "dcgm-exporter": Entry(
        "dcgm_exporter", "dcgm_exporter", _asked("dcgm_exporter"), after=("kube-prometheus-stack", "gpu-operator")
    ),
    "dra-driver-nvidia-gpu": Entry("dra_driver", "dra_driver", _asked("dra_driver"), after=("gpu-operator",)),
    "rdma-shared-device-plugin": Entry("rdma_device_plugin", "rdma_device_plugin", _asked("rdma_device_plugin")),
    "sriov-network-device-plugin": Entry("sriov_device_plugin", "sriov_device_plugin", _multus_parts("sriov")),
    "multus": Entry("multus", "multus", _asked("multus")),
    "whereabouts": Entry("whereabouts", "whereabouts", _multus_parts("whereabouts"), after=("multus",)),
    "aws-efa-k8s-device-plugin": Entry("efa_device_plugin", "efa_device_plugin", _efa_device_plugin),
    "jobset": Entry("jobset", "job_set", _asked("job_set")),
    "kubeflow-trainer": Entry("trainer", "trainer", _asked("trainer"), requires=lambda _: ("jobset",)),
    "mpi-operator": Entry("mpi_operator", "mpi_operator", _asked("mpi_operator")),
    "kuberay-operator": Entry("kuberay", "kube_ray", _asked("kube_ray")),
    "lws": Entry("leader_worker_set", "leader_worker_set", _asked("leader_worker_set")),
    "volcano": Entry("volcano", "volcano", _asked("volcano")),
    "keda": Entry("keda", "keda", _asked("keda"), after=("kube-prometheus-stack",)),
    "prometheus-adapter": Entry(
        "prometheus_adapter", "prometheus_adapter", _asked("prometheus_adapter"), after=("kube-prometheus-stack",)
    ),
    "envoy-gateway": Entry("gateway", "gateway", _asked("gateway"), after=("cert-manager",)),
    "kserve": Entry("kserve", "kserve", _asked("kserve"), requires=_kserve_requires, after=("envoy-gateway",)),
    # Last: until its webhook answers, no pod can be made in the namespaces that it looks at.
    "kueue": Entry("kueue", "kueue", _always, after=_CONTROLLERS),
}
"""By name, which is the catalogue's. A new component is its module, its entry here and in the catalogue, its golden."""


def selected(spec: ClusterSpec, pools: tuple[Pool, ...]) -> dict[str, str]:
    """Every component of the plan, those that others require among them -> the place in the spec that brought it."""
    found = {name: path for name, entry in COMPONENTS.items() if (path := entry.wanted(spec, pools))}
    waiting = list(found)
    while waiting:
        name = waiting.pop()
        for required in COMPONENTS[name].requires(spec):
            if required not in found:
                found[required] = found[name]
                waiting.append(required)
    return {name: found[name] for name in COMPONENTS if name in found}
