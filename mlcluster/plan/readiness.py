"""Taints that the node readiness controller takes off and puts on: of a new node, and of one with broken GPUs.

It has taints of its own domain only (CRD NodeReadinessRule, "taint key must start with 'readiness.k8s.io/'").
"""

from mlcluster.plan.model import Pool, Taint
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.pools import NodePool
from mlcluster.spec.secondary import is_gated, readiness_wanted

NETWORK_TAINT = Taint("readiness.k8s.io/secondary-network-not-ready", "pending", "NoSchedule")
"""Of a node until its secondary networks are there; `eks` pools start with it."""

GPU_TAINT = Taint("readiness.k8s.io/gpu-unhealthy", "", "NoSchedule")
"""Of a node whose GPU needs a reset, until it starts anew."""


def startup_taints(spec: ClusterSpec, pool: NodePool) -> tuple[Taint, ...]:
    """What a new node of the pool carries until somebody takes it off: the spec's own, and ours."""
    written = tuple(Taint(taint.key, taint.value, taint.effect) for taint in pool.startup_taints)
    known = {(taint.key, taint.effect) for taint in written}
    ours = (NETWORK_TAINT,) if (NETWORK_TAINT.key, NETWORK_TAINT.effect) not in known and is_gated(spec, pool) else ()
    return (*written, *ours)


def health_taints(spec: ClusterSpec, pool: Pool) -> tuple[Taint, ...]:
    """What a node of the pool may get later: daemon sets stay welcome there, and an autoscaler starts another node."""
    return (GPU_TAINT,) if pool.accelerator is not None and readiness_wanted(spec) else ()
