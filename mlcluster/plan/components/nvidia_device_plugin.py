"""The NVIDIA device plugin: announces nvidia.com/gpu where the image brings no plugin (components.md 4.4, v0.20.0).

That is AL2023; Bottlerocket has its own. One release for each way of sharing, on different nodes: a node then needs no
label that chooses its configuration. MIG needs somebody who partitions the GPUs, which AL2023 does not bring: pools
with MIG get nothing here.
"""

import json

from mlcluster.catalog.pins import NVIDIA_DEVICE_PLUGIN
from mlcluster.plan import names
from mlcluster.plan.components.component import Contribution
from mlcluster.plan.components.context import ComponentContext
from mlcluster.plan.eks.context import EksContext
from mlcluster.plan.eks.tolerations import CRITICAL, device_plugin_tolerations
from mlcluster.plan.model import Manifest, PlanPod, PlanRelease, Pool
from mlcluster.plan.quantities import parse

REQUESTS = {"cpu": "50m", "memory": "128Mi"}
"""The chart asks for nothing."""


def contribute(context: ComponentContext) -> Contribution:
    """The releases and their pods."""
    on = context.eks()
    return Contribution(releases=tuple(nvidia_device_plugin_releases(on)), pods=nvidia_device_plugin_pods(on))


def nvidia_device_plugin_releases(context: EksContext) -> list[PlanRelease]:
    """A release for whole GPUs, and one for each number of time slices."""
    return [
        PlanRelease(
            id=f"Release/{_name(replicas)}",
            name=_name(replicas),
            chart=NVIDIA_DEVICE_PLUGIN.chart,
            version=NVIDIA_DEVICE_PLUGIN.version,
            repository=NVIDIA_DEVICE_PLUGIN.repository,
            namespace=NVIDIA_DEVICE_PLUGIN.namespace,
            values=_values(context, replicas, pools),
            needs=(),
            realisation="helm",
            spec_path=pools[0].spec_path,
        )
        for replicas, pools in _by_sharing(context).items()
    ]


def nvidia_device_plugin_pods(context: EksContext) -> tuple[PlanPod, ...]:
    """Its pod on the nodes of each pool."""
    return tuple(
        PlanPod(
            owner=f"Release/{_name(replicas)}",
            kind="DaemonSet",
            namespace=NVIDIA_DEVICE_PLUGIN.namespace,
            node_selector=pool.selector,
            tolerations=(CRITICAL, *device_plugin_tolerations(context, pools)),
            requests={**{name: parse(name, text) for name, text in REQUESTS.items()}, "pods": 1},
            priority_class="system-node-critical",
            evidence="declared",
            source=f"values of the release, over values.yaml of {NVIDIA_DEVICE_PLUGIN.source}",
            spec_path=pool.spec_path,
        )
        for replicas, pools in _by_sharing(context).items()
        for pool in pools
    )


def _by_sharing(context: EksContext) -> dict[int, list[Pool]]:
    """Pools by time slices of each GPU, 1 where it is not shared."""
    found: dict[int, list[Pool]] = {}
    for pool in context.pools:
        written, accelerator = context.written(pool), pool.accelerator
        if accelerator is None or accelerator.sharing == "mig" or written.ami.family != "al2023":
            continue
        slicing = written.gpu.time_slicing
        found.setdefault(slicing.replicas if slicing else 1, []).append(pool)
    return dict(sorted(found.items()))


def _name(replicas: int) -> str:
    return NVIDIA_DEVICE_PLUGIN.name + ("" if replicas == 1 else f"-slices-{replicas}")


def _values(context: EksContext, replicas: int, pools: list[Pool]) -> Manifest:
    ours = {"key": names.POOL, "operator": "In", "values": [pool.name for pool in pools]}
    terms = [{"matchExpressions": [ours]}]
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}},
        "tolerations": [CRITICAL, *device_plugin_tolerations(context, pools)],
        "resources": {"requests": REQUESTS},
        "migStrategy": "none",
        **({"config": {"map": {"default": _slices(replicas)}}} if replicas > 1 else {}),
    }


def _slices(replicas: int) -> str:
    """The plugin's own configuration (version v1), as JSON, which YAML takes.

    The name stays nvidia.com/gpu, which quotas count; more than one slice of a pod would be no more than one.
    """
    shared = [{"name": "nvidia.com/gpu", "replicas": replicas}]
    slicing = {"renameByDefault": False, "failRequestsGreaterThanOne": True, "resources": shared}
    document = {"version": "v1", "flags": {"migStrategy": "none"}, "sharing": {"timeSlicing": slicing}}
    return json.dumps(document, indent=2)
