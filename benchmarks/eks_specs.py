"""The specs of the eks target that are measured: smallest, typical, as large as one network holds."""

from pathlib import Path
from typing import Any

import yaml

from benchmarks.measure import ROOT

REGION = "us-west-2"
ZONES = [f"{REGION}{letter}" for letter in "abc"]
POOLS, TEAMS = 50, 20


def written(folder: Path) -> dict[str, Path]:
    """Name -> file: minimal (an example), typical (5 kinds of capacity), large (50 pools, 20 teams)."""
    found = {"minimal": ROOT / "examples" / "eks-minimal.yaml"}
    for name, spec in (("typical", typical()), ("large", large())):
        found[name] = folder / f"eks-{name}.yaml"
        found[name].write_text(yaml.safe_dump(spec, sort_keys=False), "utf-8")
    return found


def typical() -> dict[str, Any]:
    """Five pools: on demand, spot, EFA in a capacity block, a reservation, MIG; two volumes, three teams."""
    block = {
        "type": "capacityBlock",
        "reservationId": "cr-0123456789abcdef0",
        "startsAt": "2026-12-01T11:30:00Z",
        "endsAt": "2026-12-15T11:30:00Z",
    }
    pinned = {"zones": [ZONES[1]]}
    reserved = {"type": "reservation", "reservationId": "cr-0fedcba9876543210"}
    mig = {"gpu": {"mig": "all-1g.5gb"}, "ami": {"family": "bottlerocket"}}
    pools = [
        _pool("system", "m7i.2xlarge", 6, minSize=3),
        _pool("batch", "g5.12xlarge", 12, capacity={"type": "spot", "also": ["g5.24xlarge"]}),
        _pool("train", "p5.48xlarge", 8, capacity=block, network={"efa": True}, **pinned),
        _pool("tune", "p4d.24xlarge", 2, minSize=1, capacity=reserved, network={"placementGroup": "cluster"}, **pinned),
        _pool("slices", "p4d.24xlarge", 1, minSize=1, **mig),
    ]
    volumes = [
        {"name": "datasets", "kind": "efs", "layout": "shared", "readOnly": True},
        {"name": "checkpoints", "kind": "fsxLustre", "capacityGib": 4800, "throughputPerTib": 500, "zone": ZONES[1]},
    ]
    teams = [
        _team("pretraining", {"train": {"nodes": 6}, "system": {"nodes": 1}}),
        _team("finetuning", {"train": {"nodes": 2}, "tune": {"nodes": 2}}),
        _team("serving", {"batch": {"nodes": 4}, "slices": {"slices": 28}}),
    ]
    network = {"cidr": "10.40.0.0/16", "nat": "perZone", "endpoints": ["s3", "ecr", "sts", "ec2"]}
    return {**_cluster("typical", network, pools, teams), "storage": {"volumes": volumes}}


def large() -> dict[str, Any]:
    """50 small pools, each in one zone so that the addresses fit, and 20 teams with shares in three of them."""
    kinds: list[dict[str, Any]] = [{}, {"capacity": {"type": "spot"}}, {"network": {"efa": True}}]
    types = ["g6.12xlarge", "g6.12xlarge", "p5.48xlarge"]
    rest = [_pool(f"p{n}", types[n % 3], 2, zones=[ZONES[n // 3 % 3]], **kinds[n % 3]) for n in range(1, POOLS)]
    pools = [_pool("system", "m7i.2xlarge", 6, minSize=3), *rest]
    teams = []
    for n in range(TEAMS):
        own, other, third = (f"p{(n + step) % (POOLS - 1) + 1}" for step in (0, 20, 40))
        shares = {own: {"nodes": 1}, other: {"gpus": 4}}
        teams.append(_team(f"t{n}", shares, borrow={third: {"nodes": 1}}))
    return _cluster("large", {"cidr": "10.40.0.0/16", "nat": "perZone", "endpoints": ["s3"]}, pools, teams)


def _pool(name: str, instance_type: str, largest: int, **more: Any) -> dict[str, Any]:
    return {"name": name, "instanceType": instance_type, "maxSize": largest, **more}


def _team(name: str, guarantee: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "guarantee": guarantee, "members": {"edit": {"groups": [name]}}, **more}


def _cluster(name: str, network: dict[str, Any], pools: list[Any], teams: list[Any]) -> dict[str, Any]:
    target = {
        "kind": "eks",
        "region": REGION,
        "kubernetesVersion": "1.35",
        "accountId": "111122223333",
        "zones": ZONES,
        "network": network,
        "endpoint": {"publicCidrs": ["203.0.113.0/24"]},
        "deletionProtection": False,
    }
    head = {"apiVersion": "mlcluster/v1alpha1", "kind": "Cluster", "metadata": {"name": name}}
    return {**head, "target": target, "nodePools": pools, "teams": teams}
