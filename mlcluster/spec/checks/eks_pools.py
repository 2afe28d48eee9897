"""Checks of the node pools of the `eks` target.

Sources: Amazon EKS user guide "Managed node groups" and API reference CreateNodegroup.
"""

import re
from collections.abc import Iterator

from pydantic.alias_generators import to_camel

from mlcluster.catalog.eks import known_zones
from mlcluster.catalog.gpus import ACCELERATOR_TAINT
from mlcluster.catalog.networks import EFA_RESOURCE
from mlcluster.spec.base import doc_of
from mlcluster.spec.checks.eks_capacity import capacity_problems
from mlcluster.spec.checks.eks_images import image_problems
from mlcluster.spec.checks.eks_warm_pools import warm_pool_problems
from mlcluster.spec.checks.labels import key_error
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.eks import EksTarget
from mlcluster.spec.partial_checks import stop_at_unknown_value
from mlcluster.spec.pools import NodePool
from mlcluster.spec.suggestions import did_you_mean, listed
from mlcluster.spec.vpc_layout import cluster_zones

_NODE_GROUP_NAME = 63
_EKS_ONLY = {
    name: field.alias or to_camel(name)
    for name, field in NodePool.model_fields.items()
    if doc_of(field).targets == ("eks",)
}
"""The attribute and the key of each field that only `eks` supports."""

_NO_PLACEMENT_GROUP = re.compile(r"t[0-9]|mac|m7i-flex\.")
"""Instance types that cluster placement groups do not support (EC2 user guide, "Placement strategies")."""

_AWS_DOMAINS = ("eks.amazonaws.com", "k8s.amazonaws.com", "karpenter.sh", "karpenter.k8s.aws")


def eks_pool_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Yield problems for pools that EKS rejects, whose nodes cannot start, or that need another target."""
    target = spec.target
    for resolved in spec.resolved_pools:
        here, pool = resolved.loc, resolved.entry
        if target.kind != "eks":
            yield from _other_target(here, pool, target.kind)
            continue
        yield from _name(here, pool, spec.metadata.name)
        yield from _zones(here, pool, target)
        yield from _labels(here, pool)
        yield from _startup_taints(here, pool)
        yield from _update(here, pool)
        yield from _networks((*here, "network"), pool)
        yield from image_problems(here, resolved, target)
        yield from capacity_problems(here, pool, target)
        yield from warm_pool_problems(here, resolved, target)


@stop_at_unknown_value
def _other_target(here: Loc, pool: NodePool, kind: str) -> Iterator[Problem]:
    for field, key in _EKS_ONLY.items():
        if field in pool.model_fields_set:
            message = f"{key} is not supported on target {kind}, only on eks"
            yield Problem((*here, key), message, "Remove it", key=True)


@stop_at_unknown_value
def _name(here: Loc, pool: NodePool, cluster: str) -> Iterator[Problem]:
    """Yield a problem for a node group name that is too long; the limit of launch templates is never reached."""
    length = len(f"{cluster}-{pool.name}")
    if length > _NODE_GROUP_NAME:
        message = (
            f"the node group name {cluster}-{pool.name} has {length} characters; EKS allows at most {_NODE_GROUP_NAME}"
        )
        hint = f"Shorten it to {_NODE_GROUP_NAME - 1 - len(cluster)} characters, or shorten `metadata.name`"
        yield Problem((*here, "name"), message, hint)


@stop_at_unknown_value
def _zones(here: Loc, pool: NodePool, target: EksTarget) -> Iterator[Problem]:
    known = cluster_zones(target)
    for index, zone in enumerate(pool.zones):
        loc = (*here, "zones", index)
        if known and zone not in known:
            where = f"Use one of {listed(known)}"
            real = zone in known_zones(target.region)
            hint = f"{where}, or add {zone} to `target.zones`" if real else did_you_mean(zone, known, otherwise=where)
            yield Problem(loc, f"the cluster has no subnet in {zone}", hint)
        elif zone in pool.zones[:index]:
            yield Problem(loc, f"duplicate zone {zone}", "Remove it")
    if len(set(pool.zones)) > 1:
        yield from _one_zone((*here, "zones"), pool)


def _one_zone(loc: Loc, pool: NodePool) -> Iterator[Problem]:
    reasons = {
        "EFA needs a single zone": pool.network.efa,
        "a placement group needs a single zone": pool.network.placement_group == "cluster",
        "reserved capacity needs a single zone": pool.capacity.is_reserved,
    }
    reason = next((reason for reason, applies in reasons.items() if applies), None)
    if reason is not None:
        message = f"{reason}, got {len(set(pool.zones))} zones"
        hint = f"Set `zones: [{pool.zones[0]}]`. To use several zones, add a pool for each"
        yield Problem(loc, message, hint, key=True)


@stop_at_unknown_value
def _networks(loc: Loc, pool: NodePool) -> Iterator[Problem]:
    for name in pool.network.rdma:
        if name != EFA_RESOURCE:
            message = f"no component on EKS provides {name}, so pods that request it would stay pending"
            hint = "Use `network: {efa: true}` and an instance type with EFA"
            yield Problem((*loc, "rdma", name), message, hint, key=True)
    name = pool.instance_type or ""
    if pool.network.placement_group == "cluster" and _NO_PLACEMENT_GROUP.match(name):
        message = f"cluster placement groups do not support {name}"
        yield Problem((*loc, "placementGroup"), message, "Remove it, or use another instance family")


@stop_at_unknown_value
def _labels(here: Loc, pool: NodePool) -> Iterator[Problem]:
    keys = [((*here, "labels", key), key, True) for key in pool.labels]
    keys += [((*here, "taints", index, "key"), taint.key, False) for index, taint in enumerate(pool.taints)]
    for loc, key, about in keys:
        prefix = key.rpartition("/")[0]
        domain = next((domain for domain in _AWS_DOMAINS if prefix == domain or prefix.endswith(f".{domain}")), "")
        if domain:
            message = f"keys with the domain {domain} are reserved for EKS, Karpenter and mlcluster"
            yield Problem(loc, message, "Use a key with your own domain or without a domain", key=about)


@stop_at_unknown_value
def _startup_taints(here: Loc, pool: NodePool) -> Iterator[Problem]:
    """Yield problems for startup taints; their keys can have any domain, because another controller removes them."""
    first = {(taint.key, taint.effect): f"taints[{index}]" for index, taint in enumerate(pool.taints)}
    for index, taint in enumerate(pool.startup_taints):
        loc, same = (*here, "startupTaints", index), (taint.key, taint.effect)
        wrong = key_error(taint.key)
        if wrong:
            yield Problem((*loc, "key"), wrong, "For example node.cilium.io/agent-not-ready")
        elif taint.key == ACCELERATOR_TAINT:
            message = f"{ACCELERATOR_TAINT} is the accelerator taint, which is permanent"
            yield Problem((*loc, "key"), message, "Remove it")
        elif same in first:
            message = f"duplicate taint {taint.key}:{taint.effect}; it is also {first[same]}"
            yield Problem(loc, message, "Remove one of the two")
        first.setdefault(same, f"startupTaints[{index}]")


@stop_at_unknown_value
def _update(here: Loc, pool: NodePool) -> Iterator[Problem]:
    loc, update = (*here, "update"), pool.update
    if update.max_unavailable is not None and update.max_unavailable_percent is not None:
        message = "maxUnavailable and maxUnavailablePercent are mutually exclusive"
        yield Problem((*loc, "maxUnavailablePercent"), message, "Remove one of the two", key=True)
    elif update.max_unavailable is not None and update.max_unavailable > pool.max_size:
        message = f"expected at most {pool.max_size} (maxSize), got {update.max_unavailable}"
        yield Problem((*loc, "maxUnavailable"), message, f"Set at most {pool.max_size}")
