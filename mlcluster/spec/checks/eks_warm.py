"""Nodes that wait: free nodes behind pause pods, and warm pools of stopped instances.

Sources: Amazon EKS user guide "warm pools with managed node groups" (no custom images; on Bottlerocket neither
hibernated nor reused instances), "Customize managed nodes with launch templates" (a template must not set hibernation,
without which an instance does not hibernate), Amazon EC2 Auto Scaling user guide "Warm pools" (no spot, one instance
type).
"""

from collections.abc import Iterator

from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.eks import EksTarget
from mlcluster.spec.eks_nodes import provisioned
from mlcluster.spec.known import as_far_as_known
from mlcluster.spec.pools import NodePool, WarmPool


@as_far_as_known
def warm_problems(here: Loc, pool: NodePool, target: EksTarget) -> Iterator[Problem]:
    """Waiting nodes that the pool has no room for, or that its kind of capacity does not allow."""
    if pool.warm is not None:
        yield from _free_nodes((*here, "warm"), pool, target)
    if pool.warm_pool is not None:
        yield from _not_here((*here, "warmPool"), pool, target)
        yield from _sizes((*here, "warmPool"), pool, pool.warm_pool)
        yield from _state((*here, "warmPool"), pool, pool.warm_pool)


@as_far_as_known
def _free_nodes(loc: Loc, pool: NodePool, target: EksTarget) -> Iterator[Problem]:
    if pool.warm is not None and pool.warm.nodes > pool.max_size:
        message = f"{pool.warm.nodes} is more than maxSize, which is {pool.max_size}"
        yield Problem((*loc, "nodes"), message, f"at most {pool.max_size}")
    if target.autoscaler == "none":
        message = "with autoscaler none nobody adds a node in place of the one that was taken"
        yield Problem(loc, message, "use minSize, or an autoscaler", key=True)


@as_far_as_known
def _not_here(loc: Loc, pool: NodePool, target: EksTarget) -> Iterator[Problem]:
    if provisioned(pool, target):
        message = "Karpenter makes the nodes of this pool, and knows no warm pools"
        yield Problem(loc, message, "use warm: {nodes: 1}, which holds running nodes free", key=True)
    elif pool.capacity.type in {"spot", "capacityBlock"}:
        message = f"EC2 has no warm pools of {pool.capacity.type} capacity"
        yield Problem(loc, message, "use warm: {nodes: 1}, or capacity type onDemand", key=True)


@as_far_as_known
def _sizes(loc: Loc, pool: NodePool, warm: WarmPool) -> Iterator[Problem]:
    most = pool.max_size if warm.max_prepared is None else warm.max_prepared
    if warm.min_size > most:
        name = "maxPrepared" if warm.max_prepared is not None else "maxSize"
        yield Problem((*loc, "minSize"), f"{warm.min_size} is more than {name}, which is {most}", f"at most {most}")
    if warm.max_prepared is not None and warm.max_prepared < pool.min_size:
        message = f"{warm.max_prepared} is less than minSize, which is {pool.min_size}: running nodes count too"
        yield Problem((*loc, "maxPrepared"), message, f"at least {pool.min_size}")


@as_far_as_known
def _state(loc: Loc, pool: NodePool, warm: WarmPool) -> Iterator[Problem]:
    bottlerocket = pool.ami.family == "bottlerocket"
    if bottlerocket and warm.reuse_on_scale_in and "reuse_on_scale_in" in warm.model_fields_set:
        message = "Bottlerocket nodes cannot go back to a warm pool"
        yield Problem((*loc, "reuseOnScaleIn"), message, "remove it, or ami: {family: al2023}")
    if warm.state == "hibernated":
        message = "EKS takes no launch template that lets instances hibernate, and every pool has a template"
        yield Problem((*loc, "state"), message, "use stopped or running")
