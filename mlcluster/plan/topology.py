"""Network topology of nodes: levels of labels, and the Topology objects by which Kueue packs gangs together.

Labels of AWS (layer 1 is the coarsest; the cloud controller sets them on instance types that
DescribeInstanceTopology knows, which are those with EFA for training). Kueue's rules are those of 0.18.3.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from math import ceil

from mlcluster.catalog.networks import EFA_RESOURCE
from mlcluster.findings import Finding, finding
from mlcluster.plan import names
from mlcluster.plan.model import PlanObject, Pool
from mlcluster.plan.objects import KUEUE_API, make, object_id
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.eks import EksTarget
from mlcluster.spec.pools import HOSTNAME, NodePool

AWS_LAYER = "topology.k8s.aws/network-node-layer-"
AWS_LAYERS = tuple(f"{AWS_LAYER}{layer}" for layer in (1, 2, 3))
SIMULATED = (f"{names.DOMAIN}/block", f"{names.DOMAIN}/rack")
_AWS_TYPES = re.compile(r"^(p[3-9]|trn|hpc)")
_EVERY_NODE = frozenset({HOSTNAME, "kubernetes.io/os", "kubernetes.io/arch", "node.kubernetes.io/instance-type"})
_PLACES = frozenset({"topology.kubernetes.io/zone", "topology.kubernetes.io/region"})

Levels = tuple[str, ...]


def pool_levels(spec: ClusterSpec, pools: Iterable[Pool]) -> dict[str, Levels]:
    """Return pool -> the node labels of its levels, coarse to fine; empty if no pool has topology.

    If one pool has topology, the others use host names: a queue whose flavors all have topology admits jobs without a
    topology request to any of them, a queue with both kinds of flavor does not (isTASOnly in Kueue 0.18.3, seen on the
    lab). Only a pool that may have no nodes has no topology.
    """
    pools = tuple(pools)
    asked = {pool.name: _levels(spec.target.kind, pool, spec.pool(pool.name).entry) for pool in pools}
    if not any(asked.values()):
        return {}
    return {
        pool.name: asked[pool.name] or (HOSTNAME,)
        for pool in pools
        if asked[pool.name] or not _may_be_empty(spec, pool)
    }


def topology_name(levels: Levels) -> str:
    """Return the name of a Topology: its levels cannot change, so other levels need another object."""
    known = {(*AWS_LAYERS, HOSTNAME): "aws-network", (*SIMULATED, HOSTNAME): "block-rack", (HOSTNAME,): "hostname"}
    if levels in known:
        return known[levels]
    return f"levels-{hashlib.sha256(' '.join(levels).encode()).hexdigest()[:8]}"


def flavor_name(pool: Pool, levels: Levels | None) -> str:
    """Return the name of a pool's flavor: the name of the pool, with topology also a hash of its immutable fields.

    Kueue rejects changes of labels, tolerations and topology of such a flavor, and its deletion while a queue uses it.
    So a change creates another flavor, and the queues move to it before `up` deletes the old one. The reverse is
    `pool_of_flavor`.
    """
    if not levels:
        return pool.name
    fixed = [list(levels), sorted(pool.selector.items()), [(t.key, t.value, t.effect) for t in pool.taints]]
    return f"{pool.name}.{hashlib.sha256(json.dumps(fixed).encode()).hexdigest()[:8]}"


def pool_of_flavor(name: str) -> str:
    """Return the pool of a flavor, the reverse of `flavor_name`: names of pools have no dots.

    A flavor in the state of an `existing` cluster records nothing else of a pool that the plan no longer has.
    """
    return name.partition(".")[0]


def topology_objects(
    cluster: str, pools: Iterable[Pool], levels: Mapping[str, Levels], kueue: str
) -> dict[str, PlanObject]:
    """Return every Topology of the pools by its name."""
    made: dict[str, PlanObject] = {}
    for pool in pools:
        if pool.name in levels:
            name = topology_name(levels[pool.name])
            body = {"spec": {"levels": [{"nodeLabel": key} for key in levels[pool.name]]}}
            path = (*pool.spec_path, "topology")
            made.setdefault(name, make(cluster, KUEUE_API, "Topology", name, body, needs=(kueue,), spec_path=path))
    return made


def topology_id(levels: Levels) -> str:
    """Return the id of the Topology with these levels."""
    return object_id("Topology", topology_name(levels))


def topology_findings(spec: ClusterSpec, pools: Iterable[Pool], levels: Mapping[str, Levels]) -> Iterator[Finding]:
    """Yield findings on pools whose topology admits nothing: Kueue counts existing nodes with every label only."""
    pools = tuple(pools)
    for pool in pools:
        where = (*pool.spec_path, "topology")
        if levels and pool.name not in levels:
            yield finding(
                "KUE004",
                pool.spec_path,
                f"{pool.name} may have no nodes, so it has no topology, while other pools have one: for teams with "
                "quota of both, Kueue admits to the other pools only jobs that request a topology",
                f"Set minSize of {pool.name}, or annotate these jobs kueue.x-k8s.io/podset-unconstrained-topology.",
            )
        if pool.name not in levels:
            continue
        if _may_be_empty(spec, pool):
            yield finding(
                "KUE001",
                where,
                f"Kueue admits workloads to {pool.name} only on existing nodes, and it may have none: minSize is 0, "
                "and the autoscaler starts a node only for pods of admitted workloads",
                f"Set minSize of {pool.name} to the number of nodes that one gang needs, or remove topology.",
            )
        elif _starts_for_pods(spec, pool) and (needed := _guaranteed_nodes(spec, pool)) > (free := _free(spec, pool)):
            yield finding(
                "KUE006",
                (*pool.spec_path, "minSize"),
                f"{needed} nodes of {pool.name} are guaranteed, but only {free} always exist and are free. If one pool "
                "has topology, Kueue admits workloads only to existing nodes, and the autoscaler starts a node only "
                "for admitted workloads. The pods of `warm` occupy their nodes",
                f"Set `minSize: {needed + pool.min_size - free}` for {pool.name}, or guarantee less of it, or remove "
                "topology from all pools.",
            )
        missing = [key for key in levels[pool.name] if not _has(spec.target.kind, pool, key)]
        if missing:
            yield finding(
                "KUE002",
                where,
                f"nodes of {pool.name} do not have the label {missing[0]}, so Kueue admits nothing to them",
                "List labels that every node of the pool has, or add it to the labels of the pool.",
            )


def _guaranteed_nodes(spec: ClusterSpec, pool: Pool) -> int:
    """Return the number of nodes that the guarantees of the teams in Kueue need."""
    given = [team.guarantee[pool.name] for team in spec.teams
             if team.scheduler == "kueue" and pool.name in team.guarantee]  # fmt: skip
    device = pool.accelerator
    parts = Fraction(sum(amount.nodes or 0 for amount in given))
    if device is not None:
        parts += Fraction(sum(amount.gpus or 0 for amount in given), device.gpus)
        parts += Fraction(sum(amount.slices or 0 for amount in given), device.slices)
    return ceil(parts)


def _free(spec: ClusterSpec, pool: Pool) -> int:
    """Return the number of nodes that always exist without pods; Kueue counts the pods of `warm`."""
    warm = spec.pool(pool.name).entry.warm
    return max(0, pool.min_size - (warm.nodes if warm else 0))


def _starts_for_pods(spec: ClusterSpec, pool: Pool) -> bool:
    """Return whether the autoscaler adds nodes only for pending pods; a capacity block adds its nodes at its start."""
    scaled = isinstance(spec.target, EksTarget) and spec.target.autoscaler != "none"
    return scaled and pool.capacity_type != "capacityBlock"


def _may_be_empty(spec: ClusterSpec, pool: Pool) -> bool:
    return isinstance(spec.target, EksTarget) and spec.target.autoscaler != "none" and pool.min_size == 0


def _levels(target: str, pool: Pool, written: NodePool) -> Levels:
    if isinstance(written.topology, list):
        return tuple(written.topology)
    if written.topology == "none":
        return ()
    if target == "local":
        return (*SIMULATED, HOSTNAME)
    on_fabric = target == "eks" and (EFA_RESOURCE in pool.allocatable or bool(_AWS_TYPES.match(pool.instance_type)))
    return (*AWS_LAYERS, HOSTNAME) if on_fabric else (HOSTNAME,)


def _has(target: str, pool: Pool, key: str) -> bool:
    """Return whether nodes of a pool have a label; on `existing` it is unknown, so True."""
    if target == "existing" or key in _EVERY_NODE | _PLACES or key in pool.labels:
        return True
    if target == "local":
        return key in SIMULATED
    if key.startswith(AWS_LAYER):
        return EFA_RESOURCE in pool.allocatable or bool(_AWS_TYPES.match(pool.instance_type))
    return key.startswith(("eks.amazonaws.com/", "karpenter.", "topology.k8s.aws/", "nvidia.com/gpu"))
