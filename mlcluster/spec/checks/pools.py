"""Pools: sizes, what is kept back of a node, capacity, selectors."""

from collections.abc import Iterator

from mlcluster.spec.checks.facts import NodeFacts, node_facts, units
from mlcluster.spec.checks.labels import covered
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.pools import NodePool

_RESERVING = ("reservation", "capacityBlock")
_UNITS = {"cpu": "milli-CPU", "memory": "MiB", "ephemeralStorage": "MiB", "pods": "pods"}


def pool_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Pools that cannot be."""
    for index, pool in enumerate(spec.node_pools):
        here: Loc = ("nodePools", index)
        if pool.min_size > pool.max_size:
            message = f"{pool.min_size} is more than maxSize, which is {pool.max_size}"
            yield Problem((*here, "minSize"), message, f"at most {pool.max_size}")
        yield from _shape(here, pool)
        facts = node_facts(pool, on_eks=spec.target.kind == "eks")
        if facts is not None:
            yield from _reserved(here, pool, facts)
        yield from _capacity(here, pool)
        yield from _selector(here, pool, on_existing=spec.target.kind == "existing")
        if spec.target.kind == "existing":
            yield from _made_elsewhere(here, pool)
        elif "apply_to_nodes" in pool.model_fields_set:
            message = f"applyToNodes is for target existing; on {spec.target.kind} the nodes are made with them"
            yield Problem((*here, "applyToNodes"), message, "remove it", key=True)
    yield from _overlaps(spec)


def _shape(here: Loc, pool: NodePool) -> Iterator[Problem]:
    if pool.node_shape is None:
        return
    given = {"cpu": pool.node_shape.cpu, "memory": pool.node_shape.memory}
    for key, quantity in given.items():
        if units(key, quantity) == 0:
            yield Problem((*here, "nodeShape", key), f'"{quantity}" is nothing', "what pods can use on one node")


def _reserved(here: Loc, pool: NodePool, facts: NodeFacts) -> Iterator[Problem]:
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


def _capacity(here: Loc, pool: NodePool) -> Iterator[Problem]:
    reserving = pool.capacity.type in _RESERVING
    given = pool.capacity.reservation_id is not None
    if reserving and not given:
        message = f"reservationId is missing; {pool.capacity.type} needs it"
        yield Problem((*here, "capacity"), message, "add reservationId: cr-...", key=True)
    elif given and not reserving:
        message = f"a reservation has no use with capacity type {pool.capacity.type}"
        yield Problem((*here, "capacity", "reservationId"), message, "set type: reservation or capacityBlock")


def _selector(here: Loc, pool: NodePool, *, on_existing: bool) -> Iterator[Problem]:
    if on_existing and pool.selector is None:
        hint = "add selector: labels that the nodes of this pool have and no others"
        yield Problem(here, "selector is missing; target existing needs it", hint)
    elif not on_existing and pool.selector is not None:
        message = "a selector is for target existing; elsewhere mlcluster makes the nodes"
        yield Problem((*here, "selector"), message, "use labels", key=True)


def _made_elsewhere(here: Loc, pool: NodePool) -> Iterator[Problem]:
    """What is decided when nodes are made, and these nodes are there already."""
    if pool.network.placement_group != "none":
        message = "a placement group is chosen when nodes are made; these are there already"
        yield Problem((*here, "network", "placementGroup"), message, "remove it")
    if pool.gpu.taint and "taint" in pool.gpu.model_fields_set:
        message = "mlcluster puts no accelerator taint on nodes of target existing"
        yield Problem((*here, "gpu", "taint"), message, "list it under taints, with applyToNodes: {taints: true}")


def _overlaps(spec: ClusterSpec) -> Iterator[Problem]:
    if spec.target.kind != "existing":
        return
    pools = spec.node_pools
    selectors = [(i, frozenset(pool.selector.items())) for i, pool in enumerate(pools) if pool.selector]
    for wide, narrow in covered(selectors):
        message = f"every node of {pools[narrow].name} belongs to this pool too, and would count twice"
        yield Problem(
            ("nodePools", wide, "selector"), message, "select with labels that tell the pools apart", key=True
        )
