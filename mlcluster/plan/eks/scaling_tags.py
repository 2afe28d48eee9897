"""Tags of Auto Scaling groups: how the Cluster Autoscaler finds them, and what a node of theirs will be like.

EKS does not copy a node group's tags to its Auto Scaling group, and with no node there is nothing else to read. Facts:
cluster-autoscaler/cloudprovider/aws/README.md. AWS takes 128 characters for a key.
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
"""A share of an accelerator node that is less than one slice of it: such a node does nothing (at most 384 slices)."""

_DEFAULT_IDLE = "10m"
_IDLE = {"onDemand": _DEFAULT_IDLE, "spot": _DEFAULT_IDLE, "reservation": "1h", "capacityBlock": "24h"}
"""What is paid for anyway may wait: a capacity block to its end, a reservation for the next job."""


def scaling_tags_resources(context: EksContext) -> list[PlanResource]:
    """One resource for each tag of each managed pool that can grow; nothing without the Cluster Autoscaler."""
    if context.target.autoscaler != "clusterAutoscaler":
        return []
    growing = (pool for pool in context.managed if pool.min_size < pool.max_size)
    return [_tag(pool, key, value) for pool in growing for key, value in scaling_tags(context, pool).items()]


def scaling_tags(context: EksContext, pool: Pool) -> dict[str, str]:
    """The tags of a pool's group: whose it is, its nodes' labels, taints and resources, and when they go."""
    return {**discovery_tags(context), **_labels(pool), **_taints(pool), **_resources(pool), **_scale_down(pool)}


def discovery_tags(context: EksContext) -> dict[str, str]:
    """By these the Cluster Autoscaler finds its groups, and its rights are bound to them; EKS sets the same."""
    return {f"{PREFIX}enabled": "true", f"{PREFIX}{context.name}": "owned"}


def idle_time(pool: Pool) -> str:
    """How long a node that nobody needs is kept, as a Go duration."""
    return _IDLE[pool.capacity_type]


def _tag(pool: Pool, key: str, value: str) -> PlanResource:
    inputs = {
        "autoscalingGroupName": auto_scaling_group(pool),
        # For the autoscaler to read; the nodes have their labels and taints from the node group.
        "tag": {"key": key, "value": value, "propagateAtLaunch": False},
    }
    name = f"{pool.name}-{key.removeprefix(PREFIX).removeprefix('node-template/')}"
    return resource(TAG, name, inputs, spec_path=pool.spec_path, pool=pool.name)


def _labels(pool: Pool) -> dict[str, str]:
    return {f"{TEMPLATE}label/{key}": value for key, value in pool.labels.items()}


def _taints(pool: Pool) -> dict[str, str]:
    return {f"{TEMPLATE}taint/{key}": text for key, text in autoscaler_taints(pool.taints).items()}


def _resources(pool: Pool) -> dict[str, str]:
    """Everything that the plan counts, native resources too.

    The autoscaler would take the machine's whole CPU and memory, and start nodes that a pod then does not fit on.
    """
    return {
        f"{TEMPLATE}resources/{name}": canonical(name, amount)
        for name, amount in pool.allocatable.items()
        if name != "pods"
    }


def _scale_down(pool: Pool) -> dict[str, str]:
    """Accelerator nodes go when nothing uses them, and never so that a running pod has to move.

    Of a node with whole GPUs the autoscaler looks at nothing but these; MIG instances it does not know, so there CPU
    and memory decide, without the daemon sets.
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
