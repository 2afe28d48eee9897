"""Contexts of the eks plan from a few fields."""

from typing import Any

from mlcluster.plan.eks.context import EksContext
from mlcluster.plan.model import PlanResource
from mlcluster.plan.pools import plan_pools
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.eks import EksTarget
from tests.specs import SYSTEM, TRAIN, Data, cluster

ZONES = ("us-west-2a", "us-west-2b", "us-west-2c")
OWN_VPC: Data = {
    "vpcId": "vpc-0a1",
    "privateSubnets": {"us-west-2a": "subnet-0a", "us-west-2b": "subnet-0b"},
    "publicSubnets": {"us-west-2a": "subnet-0c"},
}


def eks_spec(*pools: Data, rest: Data | None = None, **target: Any) -> ClusterSpec:
    """Return a spec of the eks target as it is parsed, not checked."""
    given = {"kind": "eks", "region": "us-west-2", **target}
    return ClusterSpec.model_validate(cluster(*(pools or (SYSTEM, TRAIN)), target=given, **(rest or {})))


def eks_context(*pools: Data, rest: Data | None = None, **target: Any) -> EksContext:
    """Return the context of such a spec, its pools without overhead."""
    spec = eks_spec(*pools, rest=rest, **target)
    assert isinstance(spec.target, EksTarget)
    return EksContext(spec, spec.target, plan_pools(spec))


def by_id(made: list[PlanResource]) -> dict[str, PlanResource]:
    """Return resources by id; every id once."""
    found = {entry.id: entry for entry in made}
    assert len(found) == len(made)
    return found
