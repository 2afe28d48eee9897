"""Tags of Auto Scaling groups, by which the Cluster Autoscaler finds them and predicts their nodes.

EKS does not copy a node group's tags to its Auto Scaling group, and the autoscaler has no other source for a group
without nodes. Facts: cluster-autoscaler/cloudprovider/aws/README.md. AWS accepts 128 characters for a key.
"""

from mlcluster.plan.eks.context import EksContext, resource
from mlcluster.plan.eks.node_groups import auto_scaling_group
from mlcluster.plan.model import PlanResource, Pool
from mlcluster.plan.taints import autoscaler_taints
from mlcluster.quantities import canonical

TAG = "aws:autoscaling/tag:Tag"
PREFIX = "k8s.io/cluster-autoscaler/"
TEMPLATE = f"{PREFIX}node-template/"
OPTIONS = f"{TEMPLATE}autoscaling-options/"
UNUSED = "0.001"
"""A utilization threshold below one slice of an accelerator node (at most 384 slices): an idle node is below it."""

_DEFAULT_IDLE = "10m"
_IDLE = {"onDemand": _DEFAULT_IDLE, "spot": _DEFAULT_IDLE, "reservation": "1h", "capacityBlock": "24h"}
"""Capacity type -> idle time. Prepaid capacity may idle: a capacity block until its end, a reservation until the next
job."""


def scaling_tags_resources(context: EksContext) -> list[PlanResource]:
    """Return a resource for each tag of each managed pool that can grow; [] without the Cluster Autoscaler."""
    if context.target.autoscaler != "clusterAutoscaler":
        return []
    growing = (pool for pool in context.managed if pool.min_size < pool.max_size)
    return [_tag(pool, key, value) for pool in growing for key, value in scaling_tags(context, pool).items()]


def scaling_tags(context: EksContext, pool: Pool) -> dict[str, str]:
    """Return the tags of a pool's group: discovery, the labels, taints and resources of its nodes, and scale-down."""
    return {**discovery_tags(context), **_labels(pool), **_taints(pool), **_resources(pool), **_scale_down(pool)}


def discovery_tags(context: EksContext) -> dict[str, str]:
    """Return the tags by which the Cluster Autoscaler finds its groups, and which its rights require.

    EKS sets the same tags.
    """
    return {f"{PREFIX}enabled": "true", f"{PREFIX}{context.name}": "owned"}


def idle_time(pool: Pool) -> str:
    """Return the time that an idle node is kept, as a Go duration."""
    return _IDLE[pool.capacity_type]


def _tag(pool: Pool, key: str, value: str) -> PlanResource:
    inputs = {
        "autoscalingGroupName": auto_scaling_group(pool),
        # Only the autoscaler reads the tag; the nodes have their labels and taints from the node group.
        "tag": {"key": key, "value": value, "propagateAtLaunch": False},
    }
    name = f"{pool.name}-{key.removeprefix(PREFIX).removeprefix('node-template/')}"
    return resource(TAG, name, inputs, spec_path=pool.spec_path, pool=pool.name)


def _labels(pool: Pool) -> dict[str, str]:
    return {f"{TEMPLATE}label/{key}": value for key, value in pool.labels.items()}


def _taints(pool: Pool) -> dict[str, str]:
    return {f"{TEMPLATE}taint/{key}": text for key, text in autoscaler_taints(pool.taints).items()}


def _resources(pool: Pool) -> dict[str, str]:
    """Return the tags of every resource that the plan counts, native resources too.

    Otherwise the autoscaler would assume the instance's whole CPU and memory, and start nodes on which a pod does not
    fit.
    """
    return {
        f"{TEMPLATE}resources/{name}": canonical(name, amount)
        for name, amount in pool.allocatable.items()
        if name != "pods"
    }


def _scale_down(pool: Pool) -> dict[str, str]:
    """Return the scale-down tags: the autoscaler removes only idle accelerator nodes, so no running pod has to move.

    For a node with whole GPUs the autoscaler considers only GPU utilization. It does not support MIG instances, so
    for these nodes it considers CPU and memory, without the daemon sets.
    """
    accelerator = pool.accelerator
    if accelerator is None:
        return {}
    if accelerator.resource == "nvidia.com/gpu":
        found = {f"{OPTIONS}scaledowngpuutilizationthreshold": UNUSED}
    else:
        found = {f"{OPTIONS}scaledownutilizationthreshold": UNUSED, f"{OPTIONS}ignoredaemonsetsutilization": "true"}
    kept = idle_time(pool)
    return found if kept == _DEFAULT_IDLE else {**found, f"{OPTIONS}scaledownunneededtime": kept}
