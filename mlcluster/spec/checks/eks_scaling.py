"""Checks of node pools on `eks` against the limits of the cluster's autoscaler.

Sources: AWS Auto Scaling quotas (50 tags a group, keys of 128 characters).
"""

from collections.abc import Iterator

from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.eks import EksTarget
from mlcluster.spec.eks_nodes import provisioned
from mlcluster.spec.known import as_far_as_known
from mlcluster.spec.pools import NodePool

_TAG_PREFIX = "k8s.io/cluster-autoscaler/node-template/label/"
_LONGEST_TAG = 128
_MOST_TAGS = 50
_OTHER_TAGS = 20
"""At most this many tags for discovery, resources and scale-down settings, those of EKS included."""


def scaling_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Yield the problems of pools that the autoscaler never grows, or whose labels do not fit the group's tags."""
    target = spec.target
    if target.kind != "eks":
        return
    if target.autoscaler == "karpenter":
        yield from _karpenter(spec, target)
    for index, pool in enumerate(spec.node_pools):
        here: Loc = ("nodePools", index)
        yield from _known_by_tags(here, pool, target)
        yield from _never_grown(here, pool, target)


@as_far_as_known
def _known_by_tags(here: Loc, pool: NodePool, target: EksTarget) -> Iterator[Problem]:
    if target.autoscaler == "clusterAutoscaler" and pool.min_size != pool.max_size:
        yield from _tags(here, pool)


@as_far_as_known
def _never_grown(here: Loc, pool: NodePool, target: EksTarget) -> Iterator[Problem]:
    if target.autoscaler == "none" and pool.min_size != pool.max_size and pool.capacity.type != "capacityBlock":
        message = f"quotas count {pool.max_size} nodes, but without an autoscaler the pool stays at {pool.min_size}"
        hint = f"set minSize: {pool.max_size}, or choose an autoscaler"
        yield Problem((*here, "maxSize"), message, hint)


@as_far_as_known
def _karpenter(spec: ClusterSpec, target: EksTarget) -> Iterator[Problem]:
    for index, pool in enumerate(spec.node_pools):
        yield from _provisioned(("nodePools", index), pool, target)
    if all(provisioned(pool, target) for pool in spec.node_pools):
        message = "Karpenter needs nodes that it does not make itself to run on"
        hint = "add a pool without GPUs and with minSize = maxSize, e.g. {name: system, minSize: 2, maxSize: 2, ...}"
        yield Problem(("target", "autoscaler"), message, hint)


@as_far_as_known
def _provisioned(here: Loc, pool: NodePool, target: EksTarget) -> Iterator[Problem]:
    if not provisioned(pool, target):
        return
    if pool.min_size not in {0, pool.max_size}:
        message = "Karpenter keeps no minimum: a pool that grows starts at 0"
        hint = f"minSize: 0 with warm: {{nodes: {pool.min_size}}}, or minSize: {pool.max_size} for a fixed size"
        yield Problem((*here, "minSize"), message, hint)
    if "update" in pool.model_fields_set:
        message = "Karpenter makes the nodes of this pool, and replaces them by its own rules"
        yield Problem((*here, "update"), message, "remove it", key=True)
    if pool.min_size != pool.max_size:
        yield from _growing(here, pool)


def _growing(here: Loc, pool: NodePool) -> Iterator[Problem]:
    """Yield problems for a growing pool: before a node exists, Karpenter counts only its GPUs and EFA interfaces."""
    unknown: dict[tuple[str, ...], bool] = {
        ("hugepages2Mi",): bool(pool.hugepages_2mi),
        ("network", "efa"): pool.network.efa,
        ("gpu", "mig"): pool.gpu.partitioned,
        ("gpu", "timeSlicing"): pool.gpu.time_slicing is not None,
        ("gpu", "mps"): pool.gpu.mps is not None,
    }
    why = {"hugepages2Mi": "huge pages", "efa": "the huge pages that EFA needs"}
    for path, given in unknown.items():
        if given:
            what = why.get(path[-1], "shares of a GPU")
            message = f"Karpenter does not know {what} before a node exists, and starts no node for them"
            hint = f"minSize: {pool.max_size} for a fixed size, or autoscaler: clusterAutoscaler"
            yield Problem((*here, *path), message, hint, key=path[-1] != "efa")


@as_far_as_known
def _tags(here: Loc, pool: NodePool) -> Iterator[Problem]:
    """Yield problems for labels and taints that do not fit the group's tags, which describe a pool without nodes."""
    longest = _LONGEST_TAG - len(_TAG_PREFIX)
    keys = [((*here, "labels", key), key, True) for key in pool.labels]
    keys += [((*here, "taints", index, "key"), taint.key, False) for index, taint in enumerate(pool.taints)]
    for loc, key, about in keys:
        if len(key) > longest:
            message = f"a key of {len(key)} characters does not fit the tag that the autoscaler reads it from"
            yield Problem(loc, message, f"at most {longest} characters", key=about)
    if len(keys) + _OTHER_TAGS > _MOST_TAGS:
        message = f"{len(keys)} labels and taints do not fit the {_MOST_TAGS} tags of an Auto Scaling group"
        yield Problem((*here, "labels"), message, f"at most {_MOST_TAGS - _OTHER_TAGS} of both", key=True)
