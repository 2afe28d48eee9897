"""Storage that cannot be, each problem at its place."""

from typing import Any

import pytest

from mlcluster.spec.checks.storage import storage_problems
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Loc
from tests.specs import SYSTEM, TRAIN, cluster

pytestmark = pytest.mark.unit

EKS = {"kind": "eks", "region": "us-west-2"}
TEAMS = [{"name": "research"}, {"name": "product"}]


def problems(storage: Any, target: Any = EKS) -> dict[Loc, str]:
    """Return place -> message and hint."""
    spec = ClusterSpec.model_validate(cluster(SYSTEM, TRAIN, target=target, teams=TEAMS, storage=storage))
    return {found.loc: f"{found.message}; {found.hint}" for found in storage_problems(spec)}


def volume(**fields: Any) -> Any:
    return {"name": "data", "kind": "fsxLustre", **fields}


def test_good_storage_has_no_problem() -> None:
    storage = {
        "classes": [
            {"name": "gp3", "default": True},
            {"name": "fast", "iops": 16000, "throughputMib": 1000, "reclaim": "delete"},
        ],
        "volumes": [
            {"name": "datasets", "kind": "efs", "layout": "shared", "readOnly": True, "teams": ["product"]},
            volume(capacityGib=4800, throughputPerTib=500, zone="us-west-2b"),
            volume(name="small", capacityGib=1200),
        ],
    }
    assert problems(storage) == {}


def test_no_storage_has_no_problem_anywhere() -> None:
    assert problems({}, {"kind": "local"}) == {}
    assert problems({}) == {}


@pytest.mark.parametrize("key", ["classes", "volumes"])
def test_other_targets_have_no_storage_yet(key: str) -> None:
    found = problems({key: [{"name": "one", **({"kind": "efs"} if key == "volumes" else {})}]}, {"kind": "local"})
    assert list(found) == [("storage", key)]
    assert "on target local is not supported yet" in found["storage", key]


@pytest.mark.parametrize(
    ("classes", "place", "says"),
    [
        ([{"name": "a"}, {"name": "a"}], (1, "name"), "also the name of storage.classes[0]"),
        (
            [{"name": "a", "default": True}, {"name": "b", "default": True}],
            (1, "default"),
            "classes[0] is also the default",
        ),
        ([{"name": "gp2"}], (0, "name"), "EKS creates a StorageClass"),
        (
            [{"name": "a", "throughputMib": 751}],
            (0, "throughputMib"),
            "needs 3,004 IOPS, got 3,000; Set at most 750",
        ),
        ([{"name": "a", "iops": 4000, "throughputMib": 1001}], (0, "throughputMib"), "at most 1000"),
    ],
)
def test_classes(classes: Any, place: Loc, says: str) -> None:
    found = problems({"classes": classes})
    assert list(found) == [("storage", "classes", *place)]
    assert says in found["storage", "classes", *place]


@pytest.mark.parametrize(
    ("volumes", "place", "says"),
    [
        ([volume(), volume()], (1, "name"), "also the name of storage.volumes[0]"),
        ([volume(teams=["reserch"])], (0, "teams", 0), "unknown team reserch; Did you mean research?"),
        ([volume(teams=["product", "product"])], (0, "teams", 1), "duplicate team product"),
        ([volume(capacityGib=1300)], (0, "capacityGib"), "For example 2400"),
        ([volume(capacityGib=100)], (0, "capacityGib"), "For example 1200"),
        ([volume(capacityGib=2401)], (0, "capacityGib"), "For example 4800"),
        ([volume(layout="shared")], (0, "layout"), "layout is not supported by kind fsxLustre, only by efs"),
        ([volume(kind="efs", capacityGib=1200)], (0, "capacityGib"), "not supported by kind efs, only by fsxLustre"),
        ([volume(kind="efs", throughputPerTib=125)], (0, "throughputPerTib"), "only by fsxLustre"),
        ([volume(kind="efs", zone="us-west-2a")], (0, "zone"), "only by fsxLustre"),
        (
            [volume(zone="us-west-2d")],
            (0, "zone"),
            "no subnet in us-west-2d; Zones: us-west-2a, us-west-2b, us-west-2c",
        ),
        ([volume(zone="us-east-1a")], (0, "zone"), "no subnet in us-east-1a"),
    ],
)
def test_volumes(volumes: Any, place: Loc, says: str) -> None:
    found = problems({"volumes": volumes})
    assert list(found) == [("storage", "volumes", *place)]
    assert says in found["storage", "volumes", *place]


def test_the_zones_are_the_spec_s_own() -> None:
    storage = {"volumes": [volume(zone="us-west-2d")]}
    assert problems(storage, {**EKS, "zones": ["us-west-2a", "us-west-2d"]}) == {}
    subnets = {"us-west-2a": "subnet-0a", "us-west-2d": "subnet-0d"}
    assert problems(storage, {**EKS, "network": {"vpcId": "vpc-0a", "privateSubnets": subnets}}) == {}


def test_every_problem_comes_at_once() -> None:
    found = problems({"classes": [{"name": "gp2"}], "volumes": [volume(capacityGib=1, teams=["a", "b"])]})
    assert len(found) == 4
