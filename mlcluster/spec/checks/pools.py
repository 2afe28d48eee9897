"""Checks of node pools: sizes, reserved resources, capacity, selectors."""

from collections.abc import Iterator

from mlcluster.quantities import parse
from mlcluster.spec.checks.labels import covered
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.partial_checks import known_values, stop_at_unknown_value
from mlcluster.spec.pools import NodePool, common_labels
from mlcluster.spec.resolved_pools import ResolvedPool

_RESERVED = {
    "cpu": ("cpu", "milli-CPU"),
    "memory": ("memory", "MiB"),
    "ephemeral-storage": ("ephemeralStorage", "MiB"),
    "pods": ("pods", "pods"),
}
"""The key under `reserved` and the unit of each resource."""


def pool_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Yield problems for settings of pools that exclude each other or that the target does not support."""
    for resolved in spec.resolved_pools:
        here, pool = resolved.loc, resolved.entry
        yield from _sizes(here, pool)
        yield from _shape(here, pool)
        yield from _reserved(resolved)
        yield from _capacity(here, pool)
        yield from _purchase_option(here, spec, pool)
        yield from _selector(here, spec, pool)
        yield from _placement_group(here, spec, pool)
        yield from _accelerator_taint(here, spec, pool)
        yield from _apply_to_nodes(here, spec, pool)
        yield from _system_only(resolved)
    yield from _pools_for_teams(spec)
    yield from _system_selectors(spec)
    yield from _overlaps(spec)


@stop_at_unknown_value
def _sizes(here: Loc, pool: NodePool) -> Iterator[Problem]:
    if pool.min_size > pool.max_size:
        message = f"expected at most {pool.max_size} (maxSize), got {pool.min_size}"
        yield Problem((*here, "minSize"), message, f"Set at most {pool.max_size}")


@stop_at_unknown_value
def _shape(here: Loc, pool: NodePool) -> Iterator[Problem]:
    if pool.node_shape is None:
        return
    given = {"cpu": pool.node_shape.cpu, "memory": pool.node_shape.memory}
    for key, quantity in given.items():
        if parse(key, quantity) == 0:
            message = f'the quantity "{quantity}" is zero'
            yield Problem((*here, "nodeShape", key), message, "Set the allocatable amount of one node")


@stop_at_unknown_value
def _reserved(pool: ResolvedPool) -> Iterator[Problem]:
    allocatable = pool.machine
    for resource, amount in pool.reserved.items() if allocatable else ():
        if amount >= allocatable[resource]:
            key, unit = _RESERVED[resource]
            message = f"expected less than the {allocatable[resource]:,} {unit} of a node, got {amount:,}"
            yield Problem((*pool.loc, "reserved", key), message, "Set the amount that daemon sets use on one node")


@stop_at_unknown_value
def _capacity(here: Loc, pool: NodePool) -> Iterator[Problem]:
    reserving = pool.capacity.is_reserved
    given = pool.capacity.reservation_id is not None
    if reserving and not given:
        message = f"reservationId is missing; capacity type {pool.capacity.type} needs it"
        yield Problem((*here, "capacity"), message, "Add `reservationId: cr-...`", key=True)
    elif given and not reserving:
        message = f"reservationId has no effect with capacity type {pool.capacity.type}"
        yield Problem((*here, "capacity", "reservationId"), message, "Set `type: reservation` or `type: capacityBlock`")


@stop_at_unknown_value
def _purchase_option(here: Loc, spec: ClusterSpec, pool: NodePool) -> Iterator[Problem]:
    if spec.target.kind != "eks" and pool.capacity.type != "onDemand":
        message = f"capacity type {pool.capacity.type} on target {spec.target.kind} is not supported yet"
        yield Problem((*here, "capacity", "type"), message, "Remove `capacity`")


@stop_at_unknown_value
def _selector(here: Loc, spec: ClusterSpec, pool: NodePool) -> Iterator[Problem]:
    on_existing = spec.target.kind == "existing"
    if on_existing and pool.selector is None:
        hint = "Add `selector` with labels that only the nodes of this pool have"
        yield Problem(here, "selector is missing; target existing needs it", hint)
    elif not on_existing and pool.selector is not None:
        message = f"selector is not supported on target {spec.target.kind}, only on existing"
        yield Problem((*here, "selector"), message, "Use `labels` to label the nodes", key=True)


@stop_at_unknown_value
def _placement_group(here: Loc, spec: ClusterSpec, pool: NodePool) -> Iterator[Problem]:
    if spec.target.kind == "existing" and pool.network.placement_group != "none":
        message = "placementGroup is not supported on target existing, whose nodes already exist"
        yield Problem((*here, "network", "placementGroup"), message, "Remove it")


@stop_at_unknown_value
def _accelerator_taint(here: Loc, spec: ClusterSpec, pool: NodePool) -> Iterator[Problem]:
    if spec.target.kind == "existing" and pool.gpu.taint and "taint" in pool.gpu.model_fields_set:
        message = "gpu.taint is not supported on target existing"
        hint = "List the taint under `taints`, and set `applyToNodes: {taints: true}`"
        yield Problem((*here, "gpu", "taint"), message, hint)


@stop_at_unknown_value
def _apply_to_nodes(here: Loc, spec: ClusterSpec, pool: NodePool) -> Iterator[Problem]:
    if spec.target.kind != "existing" and "apply_to_nodes" in pool.model_fields_set:
        message = f"applyToNodes is not supported on target {spec.target.kind}, only on existing"
        yield Problem((*here, "applyToNodes"), message, "Remove it", key=True)


@stop_at_unknown_value
def _system_only(pool: ResolvedPool) -> Iterator[Problem]:
    if pool.entry.system_only and pool.has_known_node and pool.gpus.number:
        message = f"a systemOnly pool cannot have GPUs, and the nodes of {pool.name} have GPUs"
        yield Problem((*pool.loc, "systemOnly"), message, "Remove it, or use nodes without GPUs", key=True)


@stop_at_unknown_value
def _pools_for_teams(spec: ClusterSpec) -> Iterator[Problem]:
    if spec.teams and all(pool.system_only for pool in spec.node_pools):
        message = "every pool is systemOnly, so no pool is left for teams"
        yield Problem(("nodePools", len(spec.node_pools) - 1, "systemOnly"), message, "Add a pool for teams", key=True)


@stop_at_unknown_value
def _system_selectors(spec: ClusterSpec) -> Iterator[Problem]:
    """Yield a problem unless one set of labels, which controllers select, matches exactly the system pools."""
    kept = [(index, pool) for index, pool in enumerate(spec.node_pools) if pool.system_only]
    if spec.target.kind != "existing" or not kept or any(pool.selector is None for pool in spec.node_pools):
        return
    shared = common_labels(pool.selector or {} for _, pool in kept)
    others = [pool for pool in spec.node_pools if not pool.system_only]
    found = [pool.name for pool in others if shared.items() <= (pool.selector or {}).items()]
    if not shared:
        message = "the selectors of the systemOnly pools need a common label, which controllers select"
        hint = "Add a label to the selectors that the nodes of all systemOnly pools have"
        yield Problem(("nodePools", kept[-1][0], "selector"), message, hint, key=True)
    elif found:
        message = f"the common labels of the systemOnly pools also match pool {found[0]}"
        hint = "Add a label to the selectors that only the nodes of systemOnly pools have"
        yield Problem(("nodePools", kept[-1][0], "selector"), message, hint, key=True)


@stop_at_unknown_value
def _overlaps(spec: ClusterSpec) -> Iterator[Problem]:
    if spec.target.kind != "existing":
        return
    pools = spec.node_pools
    known = known_values(pools, lambda pool: pool.selector)
    selectors = [(index, frozenset(selector.items())) for index, selector in known if selector]
    for wide, narrow in covered(selectors):
        message = f"the selector also matches every node of pool {pools[narrow].name}, which would count twice"
        hint = "Use labels that only the nodes of this pool have"
        yield Problem(("nodePools", wide, "selector"), message, hint, key=True)
