"""The standalone NVIDIA device plugin: announces GPUs on clusters without the GPU operator (chart v0.20.0).

It skips pools whose image has a device plugin. Each kind of sharing has a release on different nodes: a node then
needs no label that selects its configuration. It partitions no GPUs; it announces existing MIG instances by size.
"""

from collections.abc import Mapping

from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.components.contribution import Contribution
from mlcluster.plan.components.daemon_sets import pool_affinity
from mlcluster.plan.components.gpu_daemons import runtime_class
from mlcluster.plan.components.gpu_owners import served
from mlcluster.plan.components.gpu_sharing import PluginSharing, plugin_configuration, plugin_sharing
from mlcluster.plan.components.releases import chart_release, realisation, release_ref
from mlcluster.plan.components.workloads import NODE_CRITICAL, Workload, daemon_set_pods
from mlcluster.plan.model import Manifest, PlanPod, PlanRelease, Pool
from mlcluster.plan.taints import daemon_set_tolerations, toleration_manifests

NAME = "nvidia-device-plugin"
REQUESTS = {"cpu": "50m", "memory": "128Mi"}
"""The chart has no requests."""

MPS_CAPABLE = "nvidia.com/mps.capable"
"""The chart's MPS daemon runs on nodes with this label, which GPU feature discovery also sets."""

_SOURCE = "values of the release, over values.yaml of NVIDIA/k8s-device-plugin v0.20.0"
_MPS_SOURCE = (
    "taken to request what the plugin does: values.yaml of NVIDIA/k8s-device-plugin v0.20.0 has one `resources`"
)


def contribute(context: ComponentContext) -> Contribution:
    """Return the releases, their pods, and the label that selects nodes for the MPS daemon."""
    groups = _by_sharing(context)
    if realisation(context, NAME) == "present":
        return Contribution(releases=(chart_release(context, NAME, {}),))
    return Contribution(
        releases=tuple(_release(context, sharing, pools) for sharing, pools in groups.items()),
        pods=tuple(pod for sharing, pools in groups.items() for pod in _pods(context, sharing, pools)),
        node_labels={pool.name: {MPS_CAPABLE: "true"} for pools in groups.values() for pool in pools if _mps(pool)},
    )


def _by_sharing(context: ComponentContext) -> Mapping[PluginSharing, list[Pool]]:
    """Return the pools by their kind of GPU sharing, whole GPUs first."""
    found: dict[PluginSharing, list[Pool]] = {}
    for pool in served(context, NAME, "devicePlugin"):
        found.setdefault(plugin_sharing(pool, context.spec_pool(pool)), []).append(pool)
    return dict(sorted(found.items(), key=lambda entry: (bool(entry[0].strategy), entry[0].key)))


def _name(sharing: PluginSharing) -> str:
    """Return the name of a release: nvidia-device-plugin, -slices-4, -mps-2; the names are older than MPS."""
    suffixes = {"": "", "time-slicing": f"-slices-{sharing.replicas}", "mps": f"-mps-{sharing.replicas}"}
    return f"{NAME}{suffixes[sharing.strategy]}"


def _release(context: ComponentContext, sharing: PluginSharing, pools: list[Pool]) -> PlanRelease:
    cut = any(pool.accelerator is not None and pool.accelerator.sharing == "mig" for pool in pools)
    strategy = "mixed" if cut else "none"
    values: Manifest = {
        "affinity": pool_affinity(pools),
        "tolerations": toleration_manifests(daemon_set_tolerations(context.spec, pools)),
        "resources": {"requests": REQUESTS},
        "migStrategy": strategy,
        **runtime_class(context, pools),
        **({"config": {"map": {"default": plugin_configuration(sharing, strategy)}}} if sharing.strategy else {}),
    }
    return chart_release(context, NAME, values, name=_name(sharing))


def _pods(context: ComponentContext, sharing: PluginSharing, pools: list[Pool]) -> list[PlanPod]:
    sources = {_name(sharing): _SOURCE}
    if any(map(_mps, pools)):
        sources[f"{_name(sharing)}-mps-control-daemon"] = _MPS_SOURCE
    workloads = (
        Workload(name, REQUESTS, kind="DaemonSet", priority_class=NODE_CRITICAL, source=source)
        for name, source in sources.items()
    )
    owner = release_ref(_name(sharing))
    return [pod for workload in workloads for pod in daemon_set_pods(context, NAME, workload, pools, owner=owner)]


def _mps(pool: Pool) -> bool:
    return pool.accelerator is not None and pool.accelerator.sharing == "mps"
