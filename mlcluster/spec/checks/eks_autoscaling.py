"""Checks of node pools on `eks` against the limits of the cluster's autoscaler.

Source: AWS Auto Scaling quotas (50 tags per group, 128 characters per key).
"""

from collections.abc import Iterator

from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.eks import EksTarget
from mlcluster.spec.partial_checks import stop_at_unknown_value
from mlcluster.spec.pools import NodePool
from mlcluster.spec.resolved_pools import ResolvedPool

_TAG_PREFIX = "k8s.io/cluster-autoscaler/node-template/label/"
_LONGEST_TAG = 128
_MOST_TAGS = 50
_OTHER_TAGS = 20
"""The maximum number of tags for discovery, resources and scale-down settings, including those of EKS."""


def autoscaling_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Yield problems for pools that no autoscaler scales up, and for labels that do not fit the tags of the group."""
    target = spec.target
    if target.kind != "eks":
        return
    if target.autoscaler == "karpenter":
        yield from _karpenter(spec)
    for index, pool in enumerate(spec.node_pools):
        here: Loc = ("nodePools", index)
        yield from _autoscaler_tags(here, pool, target)
        yield from _without_autoscaler(here, pool, target)


@stop_at_unknown_value
def _autoscaler_tags(here: Loc, pool: NodePool, target: EksTarget) -> Iterator[Problem]:
    if target.autoscaler == "clusterAutoscaler" and not pool.fixed_size:
        yield from _tags(here, pool)


@stop_at_unknown_value
def _without_autoscaler(here: Loc, pool: NodePool, target: EksTarget) -> Iterator[Problem]:
    if target.autoscaler == "none" and not pool.fixed_size and pool.capacity.type != "capacityBlock":
        message = f"quotas assume {pool.max_size} nodes, but without an autoscaler the pool stays at {pool.min_size}"
        hint = f"Set `minSize: {pool.max_size}`, or set `target.autoscaler`"
        yield Problem((*here, "maxSize"), message, hint)


@stop_at_unknown_value
def _karpenter(spec: ClusterSpec) -> Iterator[Problem]:
    for pool in spec.resolved_pools:
        yield from _karpenter_pool(pool.loc, pool)
    if all(pool.managed_by_karpenter for pool in spec.resolved_pools):
        message = "Karpenter needs a pool to run on that it does not manage"
        hint = "Add a pool of fixed size without GPUs, for example `{name: system, minSize: 2, maxSize: 2, ...}`"
        yield Problem(("target", "autoscaler"), message, hint)


@stop_at_unknown_value
def _karpenter_pool(here: Loc, resolved: ResolvedPool) -> Iterator[Problem]:
    pool = resolved.entry
    if not resolved.managed_by_karpenter:
        return
    if pool.min_size not in {0, pool.max_size}:
        message = f"expected 0 or {pool.max_size} (maxSize), got {pool.min_size}; Karpenter supports no other minimum"
        hint = (
            f"Set `minSize: 0` and `warm: {{nodes: {pool.min_size}}}`, or `minSize: {pool.max_size}` for a fixed size"
        )
        yield Problem((*here, "minSize"), message, hint)
    if "update" in pool.model_fields_set:
        message = "update has no effect, because Karpenter manages the nodes of this pool"
        yield Problem((*here, "update"), message, "Remove it", key=True)
    if not pool.fixed_size:
        yield from _scaled_from_zero(here, pool)


def _scaled_from_zero(here: Loc, pool: NodePool) -> Iterator[Problem]:
    """Yield problems for a pool without nodes, for which Karpenter predicts only the GPUs and EFA interfaces."""
    unknown: dict[tuple[str, ...], bool] = {
        ("hugepages2Mi",): bool(pool.hugepages_2mi),
        ("network", "efa"): pool.network.efa,
        ("gpu", "mig"): pool.gpu.partitioned,
        ("gpu", "timeSlicing"): pool.gpu.time_slicing is not None,
        ("gpu", "mps"): pool.gpu.mps is not None,
    }
    why = {"hugepages2Mi": "huge pages", "efa": "the huge pages of EFA"}
    for path, given in unknown.items():
        if given:
            what = why.get(path[-1], "GPU slices")
            message = f"Karpenter starts no nodes for pods that request {what}"
            hint = f"Set `minSize: {pool.max_size}` for a fixed size, or `autoscaler: clusterAutoscaler`"
            yield Problem((*here, *path), message, hint, key=path[-1] != "efa")


@stop_at_unknown_value
def _tags(here: Loc, pool: NodePool) -> Iterator[Problem]:
    """Yield problems for labels and taints that do not fit the tags, which describe the nodes to the autoscaler."""
    longest = _LONGEST_TAG - len(_TAG_PREFIX)
    keys = [((*here, "labels", key), key, True) for key in pool.labels]
    keys += [((*here, "taints", index, "key"), taint.key, False) for index, taint in enumerate(pool.taints)]
    for loc, key, about in keys:
        if len(key) > longest:
            message = f"expected at most {longest} characters, got {len(key)}; the autoscaler reads the key from a tag"
            yield Problem(loc, message, "Shorten the key", key=about)
    if len(keys) + _OTHER_TAGS > _MOST_TAGS:
        most = _MOST_TAGS - _OTHER_TAGS
        message = f"expected at most {most} labels and taints, got {len(keys)}; the autoscaler reads them from tags"
        yield Problem((*here, "labels"), message, "Remove labels or taints", key=True)
