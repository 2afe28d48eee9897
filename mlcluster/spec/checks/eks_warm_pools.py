"""Checks of spare nodes (`warm`) and warm pools (`warmPool`).

Sources: Amazon EKS user guide "warm pools with managed node groups" (no custom images; no hibernation
and no reuse with Bottlerocket), "Customize managed nodes with launch templates" (no template with hibernation, which
instances need to hibernate), Amazon EC2 Auto Scaling user guide "Warm pools" (no Spot Instances, one instance type).
"""

from collections.abc import Iterator

from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.ec2_pools import WarmPool
from mlcluster.spec.eks import EksTarget
from mlcluster.spec.partial_checks import stop_at_unknown_value
from mlcluster.spec.pools import NodePool
from mlcluster.spec.resolved_pools import ResolvedPool


@stop_at_unknown_value
def warm_pool_problems(here: Loc, resolved: ResolvedPool, target: EksTarget) -> Iterator[Problem]:
    """Yield problems for spare nodes beyond `maxSize`, and for warm pools that EKS does not support."""
    pool = resolved.entry
    if pool.warm is not None:
        yield from _spare_nodes((*here, "warm"), pool, target)
    if pool.warm_pool is not None:
        yield from _unsupported_capacity((*here, "warmPool"), resolved)
        yield from _sizes((*here, "warmPool"), pool, pool.warm_pool)
        yield from _state((*here, "warmPool"), pool, pool.warm_pool)


@stop_at_unknown_value
def _spare_nodes(loc: Loc, pool: NodePool, target: EksTarget) -> Iterator[Problem]:
    if pool.warm is not None and pool.warm.nodes > pool.max_size:
        message = f"expected at most {pool.max_size} (maxSize), got {pool.warm.nodes}"
        yield Problem((*loc, "nodes"), message, f"Set at most {pool.max_size}")
    if target.autoscaler == "none":
        message = "warm needs an autoscaler, which replaces spare nodes that workloads use"
        yield Problem(loc, message, "Use `minSize` instead, or set `target.autoscaler`", key=True)


@stop_at_unknown_value
def _unsupported_capacity(loc: Loc, resolved: ResolvedPool) -> Iterator[Problem]:
    pool = resolved.entry
    if resolved.managed_by_karpenter:
        message = "Karpenter, which manages the nodes of this pool, does not support warm pools"
        yield Problem(loc, message, "Use `warm: {nodes: 1}`, which keeps spare nodes running", key=True)
    elif pool.capacity.type in {"spot", "capacityBlock"}:
        message = f"EC2 does not support warm pools with capacity type {pool.capacity.type}"
        yield Problem(loc, message, "Use `warm: {nodes: 1}`, or capacity type onDemand", key=True)


@stop_at_unknown_value
def _sizes(loc: Loc, pool: NodePool, warm: WarmPool) -> Iterator[Problem]:
    most = pool.max_size if warm.max_prepared is None else warm.max_prepared
    if warm.min_size > most:
        name = "maxPrepared" if warm.max_prepared is not None else "maxSize"
        message = f"expected at most {most} ({name}), got {warm.min_size}"
        yield Problem((*loc, "minSize"), message, f"Set at most {most}")
    if warm.max_prepared is not None and warm.max_prepared < pool.min_size:
        message = f"expected at least {pool.min_size} (minSize), got {warm.max_prepared}; running nodes count, too"
        yield Problem((*loc, "maxPrepared"), message, f"Set at least {pool.min_size}")


@stop_at_unknown_value
def _state(loc: Loc, pool: NodePool, warm: WarmPool) -> Iterator[Problem]:
    bottlerocket = pool.ami.family == "bottlerocket"
    if bottlerocket and warm.reuse_on_scale_in and "reuse_on_scale_in" in warm.model_fields_set:
        message = "Bottlerocket nodes cannot return to a warm pool"
        yield Problem((*loc, "reuseOnScaleIn"), message, "Remove it, or set `ami: {family: al2023}`")
    if warm.state == "hibernated":
        message = "hibernation needs a launch template setting that EKS rejects"
        yield Problem((*loc, "state"), message, "Use stopped or running")
