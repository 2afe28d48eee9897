"""Small specs as data, and what becomes of them: the shortest way from a few fields to a plan."""

import json
from typing import Any

from mlcluster.plan import build
from mlcluster.plan.model import Manifest, Plan, Pool
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.load import parse

Data = dict[str, Any]

SYSTEM: Data = {"name": "system", "instanceType": "m7i.2xlarge", "maxSize": 4}
TRAIN: Data = {"name": "train", "instanceType": "p5.48xlarge", "maxSize": 8}
SHARED: Data = {"name": "shared", "instanceType": "p4d.24xlarge", "maxSize": 2, "gpu": {"mig": "all-1g.5gb"}}
SHAPE: Data = {"name": "own", "nodeShape": {"cpu": "10", "memory": "100Gi"}, "maxSize": 2}
LOCAL: Data = {"kind": "local"}
EXISTING: Data = {"kind": "existing"}


def cluster(*pools: Data, target: Data = LOCAL, **rest: Any) -> Data:
    """A spec as data; pools of an `existing` target get a selector each."""
    if target["kind"] == "existing":
        pools = tuple({"selector": {"example.com/pool": pool["name"]}, **pool} for pool in pools)
    head = {"apiVersion": "mlcluster/v1alpha1", "kind": "Cluster", "metadata": {"name": "atlas"}, "target": target}
    return {**head, "nodePools": list(pools), **rest}


def checked(data: Data) -> ClusterSpec:
    """The spec, through every check."""
    return parse(json.dumps(data, indent=1).encode(), "cluster.yaml").spec


def planned(*pools: Data, **rest: Any) -> Plan:
    """The plan of a valid spec of these pools (default: a CPU pool and a GPU pool)."""
    return build(checked(cluster(*(pools or (SYSTEM, TRAIN)), **rest)))


def planned_unchecked(*pools: Data, **rest: Any) -> Plan:
    """The plan of a spec that the checks would not let through yet: other targets, more than Kueue takes."""
    return build(ClusterSpec.model_validate(cluster(*pools, **rest)))


def pool_of(data: Data, **rest: Any) -> Pool:
    """One pool, resolved."""
    return planned(data, **rest).pools[0]


def manifests(plan: Plan, kind: str) -> dict[str, Manifest]:
    """The objects of a kind by what follows it in their ids: "research/team" or "research"."""
    found = {entry.id: entry.manifest for entry in plan.objects if entry.manifest["kind"] == kind}
    return {identifier.partition("/")[2]: manifest for identifier, manifest in found.items()}
