"""Karpenter NodePools: how many nodes a pool may have, what they carry, and when they go (karpenter.sh/v1, 1.14)."""

from mlcluster.catalog.gpus import GPU_RESOURCE
from mlcluster.catalog.instances import instance_type
from mlcluster.plan.eks.context import EksContext
from mlcluster.plan.eks.karpenter_classes import KIND as NODE_CLASS
from mlcluster.plan.eks.scaling_tags import idle_time
from mlcluster.plan.model import Manifest, PlanObject, Pool
from mlcluster.plan.objects import make, object_id
from mlcluster.plan.taints import startup_taints, taint_manifest

API = "karpenter.sh/v1"
KIND = "NodePool"
_ORDER = ("reserved", "spot", "on-demand")
"""In this order Karpenter takes what a NodePool allows (NodePools, "Capacity Type")."""

_CAPACITY = {"onDemand": "on-demand", "spot": "spot", "reservation": "reserved", "capacityBlock": "reserved"}


def node_pool(context: EksContext, pool: Pool) -> PlanObject:
    """The Karpenter NodePool of a pool, called as the pool is; gone before its EC2NodeClass and the release are."""
    body = {"spec": _spec(context, pool)}
    needs = (object_id(NODE_CLASS, pool.name),)
    return make(context.name, API, KIND, pool.name, body, needs=needs, spec_path=pool.spec_path, pool=pool.name)


def is_static(pool: Pool) -> bool:
    """Whether Karpenter keeps a fixed number of nodes, wanted or not."""
    return pool.min_size == pool.max_size


def _spec(context: EksContext, pool: Pool) -> Manifest:
    startup = startup_taints(context.spec, context.spec_pool(pool))
    node = {
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": NODE_CLASS, "name": pool.name},
        "requirements": _requirements(context, pool),
        **({"taints": [taint_manifest(taint) for taint in pool.taints]} if pool.taints else {}),
        **({"startupTaints": [taint_manifest(taint) for taint in startup]} if startup else {}),
        # The image is pinned, so an old node is as good as a new one; expiry would only end jobs.
        "expireAfter": "Never",
    }
    return {
        **({"replicas": pool.max_size} if is_static(pool) else {}),
        "template": {"metadata": {"labels": dict(pool.labels)}, "spec": node},
        "limits": _limits(pool),
        "disruption": _disruption(context, pool),
    }


def _requirements(context: EksContext, pool: Pool) -> list[Manifest]:
    wanted = {
        "node.kubernetes.io/instance-type": [pool.instance_type, *pool.also],
        "kubernetes.io/arch": [pool.arch],
        "kubernetes.io/os": ["linux"],
        "topology.kubernetes.io/zone": list(context.zones_of(pool)),
        "karpenter.sh/capacity-type": capacity_types(pool),
    }
    return [{"key": key, "operator": "In", "values": values} for key, values in wanted.items()]


def capacity_types(pool: Pool) -> list[str]:
    """What the nodes may be bought as, in Karpenter's order: a reservation first where the pool names one.

    Nothing else than the spec says: a pool that quietly bought something dearer would not cost what the plan shows.
    """
    reserved = {"reserved"} if pool.reservation_id else set()
    wanted = {_CAPACITY[pool.capacity_type], *reserved}
    return [kind for kind in _ORDER if kind in wanted]


def _limits(pool: Pool) -> Manifest:
    """At most maxSize nodes, and what that many have.

    Karpenter counts nodes only after they are made, some versions of it (kubernetes-sigs/karpenter#2915); CPUs and
    accelerators it counts before. Static pools may have no other limit than nodes.
    """
    limits = {"nodes": str(pool.max_size)}
    if is_static(pool):
        return limits
    types = (pool.instance_type, *pool.also)
    limits["cpu"] = str(max(instance_type(name).vcpu for name in types) * pool.max_size)
    accelerator = pool.accelerator
    # Karpenter does not know what a MIG instance is until a node has one.
    if accelerator is not None and accelerator.resource == GPU_RESOURCE:
        limits[accelerator.resource] = str(accelerator.slices * pool.max_size)
    return limits


def _disruption(context: EksContext, pool: Pool) -> Manifest:
    """When nodes go: accelerator nodes only when they are empty, others when their pods fit elsewhere.

    A change of the spec replaces nodes as `update` says: by default one after another, and accelerator nodes not at
    all, so that no training ends for it; they have the change when they come next.
    """
    update = context.spec_pool(pool).update
    told = f"{update.max_unavailable_percent}%" if update.max_unavailable_percent else update.max_unavailable
    if pool.accelerator is not None:
        policy, drifted, underutilized = "WhenEmpty", str(told or 0), "0"
    else:
        policy, drifted, underutilized = "WhenEmptyOrUnderutilized", str(told or 1), "10%"
    return {
        "consolidationPolicy": policy,
        "consolidateAfter": idle_time(pool),
        "budgets": [
            {"nodes": drifted, "reasons": ["Drifted"]},
            {"nodes": underutilized, "reasons": ["Underutilized"]},
        ],
    }
