"""Parts of the spec that this version does not support yet."""

from collections.abc import Iterator

from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Problem
from mlcluster.spec.partial_checks import stop_at_unknown_value
from mlcluster.spec.pools import NodePool

_LATER = "not supported yet"


def unsupported_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Yield a problem for each unsupported part of the spec."""
    for index, pool in enumerate(spec.node_pools):
        yield from _capacity(spec, index, pool)


@stop_at_unknown_value
def _capacity(spec: ClusterSpec, index: int, pool: NodePool) -> Iterator[Problem]:
    if spec.target.kind != "eks" and pool.capacity.type != "onDemand":
        message = f"capacity type {pool.capacity.type} on target {spec.target.kind} is {_LATER}"
        yield Problem(("nodePools", index, "capacity", "type"), message, "Remove `capacity`")
