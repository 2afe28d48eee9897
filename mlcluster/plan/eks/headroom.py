"""Headroom: free nodes for the next workload, which idle placeholder pods reserve until a workload preempts them.

Both autoscalers start nodes for a placeholder pod and keep its node. The Cluster Autoscaler ignores pods below
priority -10 (flag expendable-pods-priority-cutoff), so the priority of placeholder pods is between -10 and 0, the
minimum of all other pods. They wait in no queue: Kueue and the policies of mlcluster cover team namespaces only.

The PriorityClass of every tier preempts placeholder pods (`plan.tiers`); a PriorityClass with preemptionPolicy Never
would wait behind them.
"""

from mlcluster.plan import names
from mlcluster.plan.components.mirror import mirrored
from mlcluster.plan.eks.context import EksContext
from mlcluster.plan.model import (
    Amounts,
    ItemRef,
    Manifest,
    PlanObject,
    PlanPod,
    Pool,
)
from mlcluster.plan.objects import make, object_id
from mlcluster.plan.taints import toleration_manifests, tolerations
from mlcluster.quantities import canonical, subtract

NAMESPACE = "mlcluster-system"
PRIORITY_CLASS = "mlcluster-headroom"
PRIORITY = -5
IMAGE = "registry.k8s.io/pause:3.10.1"
"""The image of the idle container, for amd64 and arm64; Kubernetes 1.34 uses the same image."""

_SHARE = 75
"""Percent of a node's CPU and memory: no second placeholder pod fits, and the daemon sets have room."""

_SECURITY = {
    "runAsNonRoot": True,
    "runAsUser": 65_535,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def headroom_objects(context: EksContext) -> list[PlanObject]:
    """Return a Deployment for each pool with `warm`, their namespace and PriorityClass; [] without an autoscaler."""
    pools = _pools(context)
    if not pools:
        return []
    path = (*pools[0].spec_path, "warm")
    security = {"pod-security.kubernetes.io/enforce": "restricted"}
    priority: Manifest = {
        "value": PRIORITY,
        "globalDefault": False,
        "preemptionPolicy": "Never",
        "description": "Holds nodes free; every other pod may take its place",
    }
    return [
        make(context.name, "v1", "Namespace", NAMESPACE, {}, labels=security, spec_path=path),
        make(context.name, "scheduling.k8s.io/v1", "PriorityClass", PRIORITY_CLASS, priority, spec_path=path),
        *(_deployment(context, pool) for pool in pools),
    ]


def headroom_pods(context: EksContext) -> tuple[PlanPod, ...]:
    """Return the placeholder pods."""
    return tuple(
        PlanPod(
            owner=ItemRef("Deployment", _name(pool), NAMESPACE),
            kind="Deployment",
            namespace=NAMESPACE,
            node_selector=pool.selector,
            tolerations=tolerations(pool.taints),
            requests={**_requests(pool), "pods": 1},
            priority_class=PRIORITY_CLASS,
            evidence="rendered",
            source="the plan's own object",
            spec_path=(*pool.spec_path, "warm"),
            yields=True,
            pool=pool.name,
        )
        for pool in _pools(context)
    )


def _pools(context: EksContext) -> list[Pool]:
    if context.target.autoscaler == "none":
        return []
    return [pool for pool in context.pools if context.spec_pool(pool).warm is not None]


def _name(pool: Pool) -> str:
    return f"headroom-{pool.name}"


def _requests(pool: Pool) -> Amounts:
    """Return the requests of one placeholder pod: a share of a node's CPU and memory, and the node's accelerators.

    Of a GPU shared by time slicing or MPS the pod requests one slice: the device plugin rejects a larger request.
    """
    free = subtract(pool.allocatable, pool.reserved)
    found = {name: free[name] * _SHARE // 100 for name in ("cpu", "memory")}
    accelerator = pool.accelerator
    if accelerator is None:
        return found
    one_at_a_time = accelerator.sharing in {"timeSlicing", "mps"}
    return {**found, **(dict.fromkeys(accelerator.shares, 1) if one_at_a_time else accelerator.shares)}


def _deployment(context: EksContext, pool: Pool) -> PlanObject:
    warm = context.spec_pool(pool).warm
    mine = {"app.kubernetes.io/name": "headroom", names.POOL: pool.name}
    body: Manifest = {
        "spec": {
            "replicas": warm.nodes if warm else 0,
            "selector": {"matchLabels": mine},
            # New pods beside the old pods would start unneeded nodes.
            "strategy": {"type": "Recreate"},
            "template": {"metadata": {"labels": names.owned(context.name, **mine)}, "spec": _pod(context, pool)},
        }
    }
    return make(
        context.name,
        "apps/v1",
        "Deployment",
        _name(pool),
        body,
        namespace=NAMESPACE,
        labels=mine,
        # At the pool's maximum the pods stay pending, which is correct and must not block `up`.
        annotations={"pulumi.com/skipAwait": "true"},
        needs=(object_id("PriorityClass", PRIORITY_CLASS),),
        spec_path=(*pool.spec_path, "warm"),
        pool=pool.name,
    )


def _pod(context: EksContext, pool: Pool) -> Manifest:
    amounts = {name: canonical(name, amount) for name, amount in _requests(pool).items()}
    limits = {name: amount for name, amount in amounts.items() if name not in {"cpu", "memory"}}
    registry = context.spec.components.registry
    container: Manifest = {
        "name": "pause",
        "image": mirrored(IMAGE, registry) if registry else IMAGE,
        "resources": {"requests": amounts, **({"limits": limits} if limits else {})},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
    }
    tolerated = toleration_manifests(tolerations(pool.taints))
    return {
        "priorityClassName": PRIORITY_CLASS,
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "nodeSelector": dict(pool.selector),
        **({"tolerations": tolerated} if tolerated else {}),
        "securityContext": _SECURITY,
        "containers": [container],
    }
