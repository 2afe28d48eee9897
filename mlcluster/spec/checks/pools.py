"""Pools: sizes, what is kept back of a node, capacity, selectors."""

from collections.abc import Iterator

from mlcluster.spec.checks.facts import node_facts, units
from mlcluster.spec.checks.instances import has_known_node
from mlcluster.spec.checks.labels import covered
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.gpu_duties import gpus_of
from mlcluster.spec.known import as_far_as_known, known_values
from mlcluster.spec.pools import NodePool

_RESERVING = ("reservation", "capacityBlock")
_UNITS = {"cpu": "milli-CPU", "memory": "MiB", "ephemeralStorage": "MiB", "pods": "pods"}


def pool_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Pools that cannot be."""
    for index, pool in enumerate(spec.node_pools):
        here: Loc = ("nodePools", index)
        yield from _sizes(here, pool)
        yield from _shape(here, pool)
        yield from _reserved(here, spec, pool)
        yield from _capacity(here, pool)
        yield from _selector(here, spec, pool)
        yield from _placement_group(here, spec, pool)
        yield from _accelerator_taint(here, spec, pool)
        yield from _applied(here, spec, pool)
        yield from _system_only(here, pool)
    yield from _left_for_teams(spec)
    yield from _system_selectors(spec)
    yield from _overlaps(spec)


@as_far_as_known
def _sizes(here: Loc, pool: NodePool) -> Iterator[Problem]:
    if pool.min_size > pool.max_size:
        message = f"{pool.min_size} is more than maxSize, which is {pool.max_size}"
        yield Problem((*here, "minSize"), message, f"at most {pool.max_size}")


@as_far_as_known
def _shape(here: Loc, pool: NodePool) -> Iterator[Problem]:
    if pool.node_shape is None:
        return
    given = {"cpu": pool.node_shape.cpu, "memory": pool.node_shape.memory}
    for key, quantity in given.items():
        if units(key, quantity) == 0:
            yield Problem((*here, "nodeShape", key), f'"{quantity}" is nothing', "what pods can use on one node")


@as_far_as_known
def _reserved(here: Loc, spec: ClusterSpec, pool: NodePool) -> Iterator[Problem]:
    facts = node_facts(pool, target=spec.target.kind)
    if facts is None:
        return
    kept = {
        "cpu": units("cpu", pool.reserved.cpu),
        "memory": units("memory", pool.reserved.memory),
        "ephemeralStorage": units("ephemeralStorage", pool.reserved.ephemeral_storage),
        "pods": pool.reserved.pods,
    }
    for key, amount in kept.items():
        if amount and amount >= facts.allocatable[key]:
            message = (
                f"leaves nothing: a node has {facts.allocatable[key]:,} {_UNITS[key]}, and {amount:,} are reserved"
            )
            yield Problem((*here, "reserved", key), message, "reserve what daemon sets need on one node")


@as_far_as_known
def _capacity(here: Loc, pool: NodePool) -> Iterator[Problem]:
    reserving = pool.capacity.type in _RESERVING
    given = pool.capacity.reservation_id is not None
    if reserving and not given:
        message = f"reservationId is missing; {pool.capacity.type} needs it"
        yield Problem((*here, "capacity"), message, "add reservationId: cr-...", key=True)
    elif given and not reserving:
        message = f"a reservation has no use with capacity type {pool.capacity.type}"
        yield Problem((*here, "capacity", "reservationId"), message, "set type: reservation or capacityBlock")


@as_far_as_known
def _selector(here: Loc, spec: ClusterSpec, pool: NodePool) -> Iterator[Problem]:
    on_existing = spec.target.kind == "existing"
    if on_existing and pool.selector is None:
        hint = "add selector: labels that the nodes of this pool have and no others"
        yield Problem(here, "selector is missing; target existing needs it", hint)
    elif not on_existing and pool.selector is not None:
        message = "a selector is for target existing; elsewhere mlcluster makes the nodes"
        yield Problem((*here, "selector"), message, "use labels", key=True)


@as_far_as_known
def _placement_group(here: Loc, spec: ClusterSpec, pool: NodePool) -> Iterator[Problem]:
    if spec.target.kind == "existing" and pool.network.placement_group != "none":
        message = "a placement group is chosen when nodes are made; these are there already"
        yield Problem((*here, "network", "placementGroup"), message, "remove it")


@as_far_as_known
def _accelerator_taint(here: Loc, spec: ClusterSpec, pool: NodePool) -> Iterator[Problem]:
    if spec.target.kind == "existing" and pool.gpu.taint and "taint" in pool.gpu.model_fields_set:
        message = "mlcluster puts no accelerator taint on nodes of target existing"
        yield Problem((*here, "gpu", "taint"), message, "list it under taints, with applyToNodes: {taints: true}")


@as_far_as_known
def _applied(here: Loc, spec: ClusterSpec, pool: NodePool) -> Iterator[Problem]:
    if spec.target.kind != "existing" and "apply_to_nodes" in pool.model_fields_set:
        message = f"applyToNodes is for target existing; on {spec.target.kind} the nodes are made with them"
        yield Problem((*here, "applyToNodes"), message, "remove it", key=True)


@as_far_as_known
def _system_only(here: Loc, pool: NodePool) -> Iterator[Problem]:
    if pool.system_only and has_known_node(pool) and gpus_of(pool)[1]:
        message = f"the nodes of {pool.name} have GPUs, which components cannot use"
        yield Problem((*here, "systemOnly"), message, "remove it, or use nodes without GPUs", key=True)


@as_far_as_known
def _left_for_teams(spec: ClusterSpec) -> Iterator[Problem]:
    if spec.teams and all(pool.system_only for pool in spec.node_pools):
        message = "every pool is systemOnly, so the teams have no nodes"
        yield Problem(("nodePools", len(spec.node_pools) - 1, "systemOnly"), message, "add a pool for teams", key=True)


@as_far_as_known
def _system_selectors(spec: ClusterSpec) -> Iterator[Problem]:
    """Controllers select one set of labels: on `existing` it has to find all system pools, and no other."""
    kept = [(index, pool) for index, pool in enumerate(spec.node_pools) if pool.system_only]
    if spec.target.kind != "existing" or not kept or any(pool.selector is None for pool in spec.node_pools):
        return
    items = [frozenset((pool.selector or {}).items()) for _, pool in kept]
    shared = items[0].intersection(*items)
    found = [pool.name for pool in spec.node_pools if not pool.system_only and shared <= (pool.selector or {}).items()]
    if not shared:
        message = "the selectors of the systemOnly pools have no label in common that controllers could select"
        yield Problem(
            ("nodePools", kept[-1][0], "selector"), message, "select all of them with one more label", key=True
        )
    elif found:
        message = f"the labels that all systemOnly pools have select {found[0]} too"
        hint = "select the systemOnly pools with a label that no other pool has"
        yield Problem(("nodePools", kept[-1][0], "selector"), message, hint, key=True)


@as_far_as_known
def _overlaps(spec: ClusterSpec) -> Iterator[Problem]:
    if spec.target.kind != "existing":
        return
    pools = spec.node_pools
    known = known_values(pools, lambda pool: pool.selector)
    selectors = [(index, frozenset(selector.items())) for index, selector in known if selector]
    for wide, narrow in covered(selectors):
        message = f"every node of {pools[narrow].name} belongs to this pool too, and would count twice"
        yield Problem(
            ("nodePools", wide, "selector"), message, "select with labels that tell the pools apart", key=True
        )
