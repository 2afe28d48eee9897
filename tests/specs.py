"""Small specs as data, and their plans."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from mlcluster.plan import build
from mlcluster.plan.model import Manifest, Plan, PlanRelease, Pool
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.load import load, parse

Data = dict[str, Any]

SYSTEM: Data = {"name": "system", "instanceType": "m7i.2xlarge", "maxSize": 4}
TRAIN: Data = {"name": "train", "instanceType": "p5.48xlarge", "maxSize": 8}
SHARED: Data = {"name": "shared", "instanceType": "p4d.24xlarge", "maxSize": 2, "gpu": {"mig": "all-1g.5gb"}}
SHAPE: Data = {"name": "own", "nodeShape": {"cpu": "10", "memory": "100Gi"}, "maxSize": 2}
LOCAL: Data = {"kind": "local"}
EXISTING: Data = {"kind": "existing"}


def cluster(*pools: Data, target: Data = LOCAL, **rest: Any) -> Data:
    """Return a spec as data; each pool of an `existing` target gets a selector."""
    if target["kind"] == "existing":
        pools = tuple({"selector": {"example.com/pool": pool["name"]}, **pool} for pool in pools)
    head = {"apiVersion": "mlcluster/v1alpha1", "kind": "Cluster", "metadata": {"name": "atlas"}, "target": target}
    return {**head, "nodePools": list(pools), **rest}


def checked(data: Data) -> ClusterSpec:
    """Return the spec after all checks."""
    return parse(json.dumps(data, indent=1).encode(), "cluster.yaml").spec


def planned(*pools: Data, **rest: Any) -> Plan:
    """Return the plan of a valid spec of these pools (default: a CPU pool and a GPU pool)."""
    return build(checked(cluster(*(pools or (SYSTEM, TRAIN)), **rest)))


@cache
def plan_of_file(path: Path) -> Plan:
    """Return the plan of a spec file."""
    return build(load(path).spec)


def planned_unchecked(*pools: Data, **rest: Any) -> Plan:
    """Return the plan of a spec that the checks would reject, for example with more pools than Kueue accepts."""
    return build(ClusterSpec.model_validate(cluster(*pools, **rest)))


def pool_of(data: Data, **rest: Any) -> Pool:
    """Return the plan of one pool."""
    return planned(data, **rest).pools[0]


def manifests(plan: Plan, kind: str) -> dict[str, Manifest]:
    """Return the objects of a kind by the rest of their ids: "research/team" or "research"."""
    found = {entry.id: entry.manifest for entry in plan.objects if entry.manifest["kind"] == kind}
    return {identifier.partition("/")[2]: manifest for identifier, manifest in found.items()}


def release(plan: Plan, name: str) -> PlanRelease:
    """Return the Helm release of a plan by its name."""
    return next(entry for entry in plan.releases if entry.name == name)
