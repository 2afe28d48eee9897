"""Taints and tolerations: which taints nodes have, which pods tolerate them, and how both are written.

This is the only module with rules of taints. A new rule goes here:

- A taint on the nodes of a pool goes into `pool_taints` if the nodes keep it, into `startup_taints` if a controller
  removes it from new nodes, and into `health_taints` if a controller adds it later. Flavors, node groups, Karpenter
  NodePools, simulated nodes and the flags of the Cluster Autoscaler follow.
- A toleration of the pods that mlcluster installs goes into `daemon_set_tolerations` or `controller_tolerations`.
- Whether a toleration compares the value of a taint is decided in `toleration`.
- The spelling of another API goes beside `toleration_manifest` and `taint_manifest`.

The admission policies say in CEL which pods of teams may tolerate the accelerator taint (`templates/policies`).
"""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from mlcluster.catalog import gpus
from mlcluster.plan.model import Manifest, Pool, Taint, Toleration
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.pools import NodePool
from mlcluster.spec.secondary_networks import has_network_taint, readiness_wanted

HARD_EFFECTS = frozenset({"NoSchedule", "NoExecute"})
"""Effects that keep a pod off a node."""

CRITICAL = Toleration("CriticalAddonsOnly", "Exists")
"""Toleration of the taint of `systemOnly` pools, with any effect; every controller has it, and no daemon set."""

EVERY_TAINT = Toleration(operator="Exists")

ACCELERATOR_TAINT = Taint(gpus.ACCELERATOR_TAINT, "present", "NoSchedule")
"""The taint on nodes with accelerators, unless the spec switches it off."""

NETWORK_TAINT = Taint("readiness.k8s.io/secondary-network-not-ready", "pending", "NoSchedule")
"""The taint on a new node of an `eks` pool until its secondary networks are ready.

The node readiness controller accepts taints of its own domain only (CRD NodeReadinessRule, "taint key must start with
'readiness.k8s.io/'").
"""

GPU_TAINT = Taint("readiness.k8s.io/gpu-unhealthy", "", "NoSchedule")
"""The taint that the node readiness controller adds to a node whose GPU needs a reset, until the node restarts."""

_EKS_EFFECTS = {"NoSchedule": "NO_SCHEDULE", "NoExecute": "NO_EXECUTE", "PreferNoSchedule": "PREFER_NO_SCHEDULE"}
_AUTOSCALER_ORDER = ("PreferNoSchedule", "NoExecute", "NoSchedule")


# Taints of nodes


def pool_taints(spec: ClusterSpec, pool: NodePool, *, accelerators: bool) -> tuple[Taint, ...]:
    """Return every taint that the nodes of a pool keep: those of the spec, and those that mlcluster adds.

    mlcluster adds none on an `existing` cluster, where the spec lists the taints that the nodes have.

    Args:
        accelerators: the nodes have accelerators.
    """
    configured = _configured(pool.taints)
    if spec.target.kind == "existing":
        return configured
    critical = Taint(CRITICAL.key, "true", "NoSchedule")
    reserves = pool.system_only and not any(taint.key == critical.key for taint in configured)
    return (
        *configured,
        *((critical,) if reserves else ()),
        *((ACCELERATOR_TAINT,) if accelerators and pool.gpu.taint else ()),
    )


def startup_taints(spec: ClusterSpec, pool: NodePool) -> tuple[Taint, ...]:
    """Return the taints of a new node that a controller removes: those of the spec, and that of secondary networks."""
    configured = _configured(pool.startup_taints)
    known = {(taint.key, taint.effect) for taint in configured}
    pending = (NETWORK_TAINT.key, NETWORK_TAINT.effect) not in known and has_network_taint(spec, pool)
    return (*configured, *((NETWORK_TAINT,) if pending else ()))


def health_taints(spec: ClusterSpec, pool: Pool) -> tuple[Taint, ...]:
    """Return the taints that a controller may add to a running node of the pool."""
    return (GPU_TAINT,) if pool.accelerator is not None and readiness_wanted(spec) else ()


def has_accelerator_taint(pool: Pool) -> bool:
    """Return whether the nodes of the pool have the accelerator taint, with any effect."""
    return any(taint.key == ACCELERATOR_TAINT.key for taint in pool.taints)


def _configured(taints: Iterable[Any]) -> tuple[Taint, ...]:
    return tuple(Taint(taint.key, taint.value, taint.effect) for taint in taints)


# Which pods tolerate which taints


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Return whether a toleration matches a taint (k8s.io/api/core/v1, `ToleratesTaint`)."""
    if toleration.effect not in {"", taint.effect}:
        return False
    if toleration.operator == "Exists":
        return toleration.key in {"", taint.key}
    return toleration.key == taint.key and toleration.value == taint.value


def untolerated(tolerations: Iterable[Toleration], taints: Iterable[Taint]) -> tuple[Taint, ...]:
    """Return the taints that keep a pod with these tolerations off a node."""
    tolerations = tuple(tolerations)
    hard = (taint for taint in taints if taint.effect in HARD_EFFECTS)
    return tuple(taint for taint in hard if not any(tolerates(one, taint) for one in tolerations))


def toleration(taint: Taint, *, compare_value: bool = False) -> Toleration:
    """Return the toleration for a taint.

    By default it matches any value, so that a change of the value is harmless. Kueue flavors compare the value; EKS
    add-ons, Karpenter and the Cluster Autoscaler compare it if the taint has one.
    """
    if compare_value:
        return Toleration(taint.key, "Equal", taint.value, taint.effect)
    return Toleration(taint.key, "Exists", effect=taint.effect)


def tolerations(taints: Iterable[Taint]) -> tuple[Toleration, ...]:
    """Return the tolerations for these taints, in their order, each key and effect once."""
    return tuple(dict.fromkeys(toleration(taint) for taint in taints))


def daemon_set_tolerations(spec: ClusterSpec, pools: Iterable[Pool]) -> tuple[Toleration, ...]:
    """Return the tolerations of a daemon set on these pools: every taint that their nodes have, now or later.

    A controller that removes a startup taint may wait for the very device that the daemon set announces. The
    accelerator taint is always among them.
    """
    pools = tuple(pools)
    return tolerations(
        [
            ACCELERATOR_TAINT,
            *(taint for pool in pools for taint in pool.taints),
            *(taint for pool in pools for taint in startup_taints(spec, spec.pool(pool.name).entry)),
            *(taint for pool in pools for taint in health_taints(spec, pool)),
        ]
    )


def controller_tolerations(system_pool: Pool, *, compare_values: bool = False) -> tuple[Toleration, ...]:
    """Return the tolerations of a controller: `CRITICAL`, and the other taints that keep pods off the system pool.

    Args:
        system_pool: the pool on which controllers must be able to run.
        compare_values: match the value of each taint that has one.
    """
    others = (taint for taint in system_pool.taints if taint.effect in HARD_EFFECTS and taint.key != CRITICAL.key)
    return (CRITICAL, *(toleration(taint, compare_value=compare_values and bool(taint.value)) for taint in others))


def flavor_tolerations(taints: Iterable[Taint]) -> tuple[Toleration, ...]:
    """Return the tolerations that a Kueue flavor adds to pods: all taints of its nodes but the accelerator taint.

    A pod tolerates the accelerator taint because it requests an accelerator, not because of its flavor.
    """
    return tuple(toleration(taint, compare_value=True) for taint in taints if taint.key != ACCELERATOR_TAINT.key)


# How they are written


def toleration_manifest(toleration: Toleration) -> Manifest:
    """Return a toleration in the form of a pod's spec: without an empty key or effect, a value only for `Equal`."""
    return {
        **({"key": toleration.key} if toleration.key else {}),
        "operator": toleration.operator,
        **({"value": toleration.value} if toleration.operator == "Equal" else {}),
        **({"effect": toleration.effect} if toleration.effect else {}),
    }


def toleration_manifests(tolerations: Iterable[Toleration]) -> list[Manifest]:
    """Return tolerations in the form of a pod's spec."""
    return [toleration_manifest(one) for one in tolerations]


def read_toleration(manifest: Mapping[str, Any]) -> Toleration:
    """Return a toleration of a rendered pod's spec; `tolerationSeconds` is dropped, because no plan depends on it."""
    return Toleration(
        key=str(manifest.get("key") or ""),
        operator=cast("Any", manifest.get("operator") or "Equal"),
        value=str(manifest.get("value") or ""),
        effect=str(manifest.get("effect") or ""),
    )


def taint_manifest(taint: Taint, *, empty_value: bool = False) -> Manifest:
    """Return a taint in the form of a node's spec.

    Args:
        empty_value: write the value even if it is "", as Kueue flavors and simulated nodes do. CRDs reject that.
    """
    value = {"value": taint.value} if taint.value or empty_value else {}
    return {"key": taint.key, **value, "effect": taint.effect}


def eks_taint(taint: Taint) -> Manifest:
    """Return a taint in the form of an EKS node group (Amazon EKS API reference, Taint)."""
    return {**taint_manifest(taint), "effect": _EKS_EFFECTS[taint.effect]}


def autoscaler_taints(taints: Iterable[Taint]) -> dict[str, str]:
    """Return taints in the form of the Cluster Autoscaler's node template tags: key -> "value:effect".

    A key has one tag: of two taints with the same key it describes the one with the strongest effect.
    """
    ordered = sorted(taints, key=lambda taint: _AUTOSCALER_ORDER.index(taint.effect))
    return {taint.key: f"{taint.value}:{taint.effect}" for taint in ordered}
