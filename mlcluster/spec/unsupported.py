"""What the spec can say and this version does not do yet. Everything here is an error, so nothing is ignored."""

from collections.abc import Iterator

from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Problem
from mlcluster.spec.known import as_far_as_known
from mlcluster.spec.pools import NodePool

_LATER = "not supported yet"


def unsupported_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Each part of the spec that waits for a later version."""
    for index, pool in enumerate(spec.node_pools):
        yield from _capacity(spec, index, pool)


@as_far_as_known
def _capacity(spec: ClusterSpec, index: int, pool: NodePool) -> Iterator[Problem]:
    if spec.target.kind != "eks" and pool.capacity.type != "onDemand":
        message = f"capacity type {pool.capacity.type} on target {spec.target.kind} is {_LATER}"
        yield Problem(("nodePools", index, "capacity", "type"), message, "remove capacity")
