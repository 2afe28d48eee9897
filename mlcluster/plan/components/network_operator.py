"""NVIDIA Network Operator: the only owner of RDMA, SR-IOV, Multus, CNI plugins and nv-ipam on Mellanox networks.

Facts: chart and CRDs v26.4.1. The only NicClusterPolicy configures its daemon sets; the networks
themselves are separate objects (`multus`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from mlcluster.catalog.components import pin
from mlcluster.plan.components import rdma_device_plugin, sriov_device_plugin
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.contribution import PRIVILEGED, Contribution
from mlcluster.plan.components.daemon_sets import pool_affinity
from mlcluster.plan.components.ip_pools import ip_pools
from mlcluster.plan.components.releases import chart_release, release_id
from mlcluster.plan.components.system_pool import controller_tolerations
from mlcluster.plan.components.workloads import NODE_CRITICAL, Workload, daemon_set_pods, workload_pod
from mlcluster.plan.model import Manifest, PlanObject, PlanPod, Pool, Taint, Toleration
from mlcluster.plan.objects import make, object_id
from mlcluster.plan.taints import (
    ACCELERATOR_TAINT,
    daemon_set_tolerations,
    toleration,
    toleration_manifests,
    tolerations,
)
from mlcluster.spec.components.network import NetworkOperator
from mlcluster.spec.secondary_networks import networks, pools_of, rdma_of

NAME = "network-operator"
API, KIND, POLICY = "mellanox.com/v1alpha1", "NicClusterPolicy", "nic-cluster-policy"
"""The operator ignores a NicClusterPolicy with any other name."""

POLICY_ID = object_id(KIND, POLICY)
REPOSITORY = "nvcr.io/nvidia/mellanox"
DOCA = "doca3.4.1-26.04-1.1.0.0-1"
"""The driver version of the release 26.4.1 (its list of container images)."""

CRDS = (
    "nicclusterpolicies.mellanox.com",
    "network-attachment-definitions.k8s.cni.cncf.io",
)
NV_IPAM = ("ippools.nv-ipam.nvidia.com",)
"""The CRD of pools of addresses, which the operator installs with nv-ipam, whether a node runs nv-ipam or not.

The NicClusterPolicy itself is `ready` only when its daemon sets are ready, so never without a node of a fast network.
"""

CONTROLLER = {"cpu": "5m", "memory": "64Mi"}
IPAM_CONTROLLER = {"cpu": "100m", "memory": "300Mi"}
"""Default requests of each of the two replicas (manifests/state-nv-ipam-cni/040-nv-ipam-controller.yaml)."""

SMALL = {"cpu": "100m", "memory": "50Mi"}
MULTUS = {"cpu": "100m", "memory": "128Mi"}
PLUGIN = {"cpu": "10m", "memory": "40Mi"}
NODE_LABELS = {"cpu": "5m", "memory": "64Mi"}
"""Requests of NFD's worker in its chart (node-feature-discovery 0.18, values.yaml)."""

_NFD = f"{NAME}-node-feature-discovery"
"""NFD is a subchart: the names of its workloads begin with the name of the release."""

_VALUES = "values.yaml of {source}"
_CONTROLLERS = (
    Workload(NAME, CONTROLLER, priority_class="", source=_VALUES),
    Workload(f"{_NFD}-master", {"cpu": "100m", "memory": "128Mi"}, priority_class="", source=_VALUES),
    Workload(f"{_NFD}-gc", {"cpu": "10m", "memory": "128Mi"}, priority_class="", source=_VALUES),
    # Helm runs these jobs before it installs or upgrades, and waits for them.
    Workload(f"{NAME}-upgrade-crd", kind="Job", priority_class="", source=_VALUES),
    Workload(f"{NAME}-keep-ncp", kind="Job", priority_class="", source=_VALUES),
)
_NFD_WORKER = Workload(f"{_NFD}-worker", NODE_LABELS, kind="DaemonSet", priority_class="", source=_VALUES)
_IPAM_CONTROLLER = Workload(
    "nv-ipam-controller", IPAM_CONTROLLER, replicas=2, source="manifests/state-nv-ipam-cni of {source}"
)


def _operand(name: str, requests: Mapping[str, str], *, priority_class: str = "") -> Workload:
    source = "manifests/ of {source}, with the requests of the NicClusterPolicy"
    return Workload(name, requests, kind="DaemonSet", priority_class=priority_class, source=source)


_OPERANDS = {
    "rdmaSharedDevicePlugin": _operand("rdma-shared-dp-ds", PLUGIN, priority_class=NODE_CRITICAL),
    "sriovDevicePlugin": _operand("network-operator-sriov-device-plugin", PLUGIN, priority_class=NODE_CRITICAL),
    "multus": _operand("kube-multus-ds", MULTUS, priority_class=NODE_CRITICAL),
    "cniPlugins": _operand("cni-plugins-ds", SMALL),
    "ipoib": _operand("kube-ipoib-cni-ds", SMALL),
    "nvIpam": _operand("nv-ipam-node", SMALL),
    # The operator makes a daemon set for each operating system and kernel: mofed-ubuntu24.04-76d5b6f4c-ds.
    "ofedDriver": _operand("mofed-os-kernel-ds", {}, priority_class=NODE_CRITICAL),
}
"""Part of the NicClusterPolicy -> the daemon set that the operator makes of it."""

_PROBE = {"initialDelaySeconds": 10, "periodSeconds": 20}
_ROLES = ("master", "control-plane")
_CONTROL_PLANE = tuple(Taint(f"node-role.kubernetes.io/{role}", "", "NoSchedule") for role in _ROLES)


def contribute(context: ComponentContext) -> Contribution:
    """Return the release, its NicClusterPolicy, the IPPools, and all their pods."""
    settings = context.settings(NAME)
    if settings is not None and not settings.install:
        release = chart_release(context, NAME, {})
        return Contribution(releases=(release,), objects=tuple(ip_pools(context, pin(NAME).namespace, (release.id,))))
    pools = fabric_pools(context)
    policy = _policy(context, pools)
    release = chart_release(context, NAME, _values(context), crds=CRDS)
    addresses = ip_pools(context, pin(NAME).namespace, (POLICY_ID, release.id))
    return Contribution(
        releases=(release,),
        objects=(policy, *addresses),
        pods=(*_operator_pods(context), *_operands(context, pools), *_ipam_controller(context)),
        namespaces={release.namespace: PRIVILEGED},
    )


def fabric_pools(context: ComponentContext) -> list[Pool]:
    """Return the pools that the operator manages: those with fast or secondary networks, or all if none is fast."""
    if not any(_offers(context, pool) for pool in context.pools):
        return list(context.pools)
    joined = {pool.name for network in networks(context.spec) for pool in pools_of(context.spec, network)}
    return [pool for pool in context.pools if pool.name in joined or _offers(context, pool)]


def _offers(context: ComponentContext, pool: Pool) -> bool:
    network = context.spec_pool(pool).network
    return bool(network.rdma or network.sriov)


def _values(context: ComponentContext) -> Manifest:
    """Return the values that mlcluster sets."""
    controllers = toleration_manifests(_controller_tolerations(context))
    workers = toleration_manifests(_worker_tolerations(context))
    return {
        "nfd": {"enabled": True, "deployNodeFeatureRules": True},
        "sriovNetworkOperator": {"enabled": False},
        "node-feature-discovery": {
            "worker": {"tolerations": workers},
            "master": {"tolerations": controllers},
            "gc": {"tolerations": controllers},
        },
        "operator": {"tolerations": controllers},
    }


def _controller_tolerations(context: ComponentContext) -> tuple[Toleration, ...]:
    """Return the tolerations of the operator and of NFD's controllers: those of the chart first."""
    return (*(toleration(taint, compare_value=True) for taint in _CONTROL_PLANE), *controller_tolerations(context))


def _worker_tolerations(context: ComponentContext) -> tuple[Toleration, ...]:
    """Return the tolerations of NFD's worker: those of the chart first."""
    return (*tolerations(_CONTROL_PLANE), *daemon_set_tolerations(context.spec, context.pools))


def _policy(context: ComponentContext, pools: Sequence[Pool]) -> PlanObject:
    spec: Manifest = {
        "global": {
            "repository": image_repository(context),
            "version": f"network-operator-{context.image_tag(NAME)}",
        },
        **pool_affinity(pools),
        "tolerations": toleration_manifests(daemon_set_tolerations(context.spec, pools)),
        "deploymentTolerations": toleration_manifests(controller_tolerations(context)),
        **_parts(context, pools),
    }
    made = make(
        context.cluster,
        API,
        KIND,
        POLICY,
        {"spec": spec},
        needs=(release_id(NAME),),
        spec_path=context.spec_path(NAME),
    )
    return made if context.target == "local" or not uses_nv_ipam(context) else replace(made, crds=NV_IPAM)


def image_repository(context: ComponentContext) -> str:
    """Return the registry of its images: NVIDIA's, or the mirror of the spec."""
    registry = context.spec.components.registry
    return f"{registry}/{REPOSITORY.partition('/')[2]}" if registry else REPOSITORY


def _parts(context: ComponentContext, pools: Sequence[Pool]) -> Manifest:
    """Return the parts of the NicClusterPolicy that the spec uses."""
    parts: Manifest = {}
    settings = context.settings(NAME)
    if isinstance(settings, NetworkOperator) and settings.ofed_driver:
        parts["ofedDriver"] = {
            "image": "doca-driver",
            "version": DOCA,
            "startupProbe": _PROBE,
            "livenessProbe": {"initialDelaySeconds": 30, "periodSeconds": 30},
            "readinessProbe": {"initialDelaySeconds": 10, "periodSeconds": 30},
            "upgradePolicy": {"autoUpgrade": False},
        }
    rdma = {name: count for pool in pools for name, count in rdma_of(context.spec_pool(pool)).items()}
    if rdma:
        config = rdma_device_plugin.configuration(context, rdma)
        parts["rdmaSharedDevicePlugin"] = _image("k8s-rdma-shared-dev-plugin", "rdma-shared-dp", PLUGIN, config)
    if any(context.spec_pool(pool).network.sriov for pool in pools):
        config = sriov_device_plugin.configuration(context)
        parts["sriovDevicePlugin"] = _image("sriov-network-device-plugin", "kube-sriovdp", PLUGIN, config)
    if secondary := _secondary(context):
        parts["secondaryNetwork"] = secondary
    if uses_nv_ipam(context):
        parts["nvIpam"] = {**_image("nvidia-k8s-ipam", "nv-ipam-node", SMALL), "enableWebhook": False}
        # If another container has requests here, the controller gets none unless it is in the list too.
        parts["nvIpam"]["containerResources"].append({"name": "nv-ipam-controller", "requests": dict(IPAM_CONTROLLER)})
    return parts


def _secondary(context: ComponentContext) -> Manifest:
    """Return Multus and CNI plugins; {} if the spec has no Multus or an existing Multus."""
    multus = context.spec.components.multus
    if multus is None or not multus.install:
        return {}
    found = {
        "cniPlugins": _image("plugins", "cni-plugins", SMALL),
        "multus": _image("multus-cni", "kube-multus", MULTUS),
    }
    if any(network.type == "ipoib" for network in networks(context.spec)):
        found["ipoib"] = _image("ipoib-cni", "ipoib-cni", SMALL)
    return found


def _image(name: str, container: str, requests: dict[str, str], config: str = "") -> Manifest:
    limits = {"memory": "512Mi" if container == "kube-multus" else "300Mi"}
    resources = [{"name": container, "requests": dict(requests), "limits": limits}]
    return {"image": name, "containerResources": resources, **({"config": config} if config else {})}


def uses_nv_ipam(context: ComponentContext) -> bool:
    """Return whether a network has its addresses from nv-ipam."""
    return any(network.ipam is not None and network.ipam.type == "nv-ipam" for network in networks(context.spec))


def _operator_pods(context: ComponentContext) -> Iterator[PlanPod]:
    """Yield the operator, NFD, and the jobs that Helm runs first."""
    for workload in _CONTROLLERS:
        yield workload_pod(context, NAME, workload, tolerations=_controller_tolerations(context))
    yield from daemon_set_pods(context, NAME, _NFD_WORKER, context.pools, tolerations=_worker_tolerations(context))


def _operands(context: ComponentContext, pools: Sequence[Pool]) -> list[PlanPod]:
    """Return the daemon sets that the NicClusterPolicy starts on the nodes of the fast networks."""
    parts = _parts(context, pools)
    parts |= parts.get("secondaryNetwork", {})
    return [
        pod
        for part, workload in _OPERANDS.items()
        if part in parts
        for pod in daemon_set_pods(context, NAME, workload, pools)
    ]


def _ipam_controller(context: ComponentContext) -> Iterator[PlanPod]:
    """Yield nv-ipam's controllers, two replicas that prefer different nodes without requiring them."""
    if uses_nv_ipam(context):
        own = tolerations((ACCELERATOR_TAINT, *_CONTROL_PLANE))
        yield workload_pod(context, NAME, _IPAM_CONTROLLER, tolerations=(*own, *controller_tolerations(context)))
