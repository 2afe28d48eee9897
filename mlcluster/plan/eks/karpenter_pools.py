"""Karpenter NodePools: the limits, node metadata and disruption settings of pools (karpenter.sh/v1, 1.14)."""

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
"""The order in which Karpenter uses the capacity types of a NodePool (NodePools, "Capacity Type")."""

_CAPACITY = {"onDemand": "on-demand", "spot": "spot", "reservation": "reserved", "capacityBlock": "reserved"}


def node_pool(context: EksContext, pool: Pool) -> PlanObject:
    """Return the Karpenter NodePool of a pool, which has the name of the pool.

    mlcluster deletes it before its EC2NodeClass and the release.
    """
    body = {"spec": _spec(context, pool)}
    needs = (object_id(NODE_CLASS, pool.name),)
    return make(context.name, API, KIND, pool.name, body, needs=needs, spec_path=pool.spec_path, pool=pool.name)


def is_static(pool: Pool) -> bool:
    """Return whether Karpenter keeps a fixed number of nodes, needed or not."""
    return pool.min_size == pool.max_size


def _spec(context: EksContext, pool: Pool) -> Manifest:
    startup = startup_taints(context.spec, context.spec_pool(pool))
    node = {
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": NODE_CLASS, "name": pool.name},
        "requirements": _requirements(context, pool),
        **({"taints": [taint_manifest(taint) for taint in pool.taints]} if pool.taints else {}),
        **({"startupTaints": [taint_manifest(taint) for taint in startup]} if startup else {}),
        # The image is pinned, so a new node has no advantage over an old node; expiry would only end jobs.
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
    """Return the capacity types of a pool's nodes, in Karpenter's order: first a reservation, if the pool has one.

    The list has only types that the spec sets: with a more expensive type a pool would cost more than the plan shows.
    """
    reserved = {"reserved"} if pool.reservation_id else set()
    wanted = {_CAPACITY[pool.capacity_type], *reserved}
    return [kind for kind in _ORDER if kind in wanted]


def _limits(pool: Pool) -> Manifest:
    """Return the limits of a pool: maxSize nodes, and the CPUs and accelerators of that many nodes.

    Some versions of Karpenter count nodes only after they make them (kubernetes-sigs/karpenter#2915); they count CPUs
    and accelerators before. Static pools may have no other limit than nodes.
    """
    limits = {"nodes": str(pool.max_size)}
    if is_static(pool):
        return limits
    types = (pool.instance_type, *pool.also)
    limits["cpu"] = str(max(instance_type(name).vcpu for name in types) * pool.max_size)
    accelerator = pool.accelerator
    # Karpenter cannot count MIG instances of a model before a node has one.
    if accelerator is not None and accelerator.resource == GPU_RESOURCE:
        limits[accelerator.resource] = str(accelerator.slices * pool.max_size)
    return limits


def _disruption(context: EksContext, pool: Pool) -> Manifest:
    """Return the disruption settings: accelerator nodes end when empty, other nodes when their pods fit elsewhere.

    After a change of the spec, `update` controls the replacement of nodes: by default Karpenter replaces one node at a
    time, and no accelerator node, so that no training ends; new accelerator nodes have the change.
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
