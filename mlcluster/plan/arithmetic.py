"""How a pool's quota comes about: allocatable - daemon sets - controllers - reserved = guaranteed + unassigned."""

from dataclasses import dataclass

from mlcluster.plan.model import Amounts, Plan, Pool
from mlcluster.plan.quota import guaranteed_per_pool
from mlcluster.quantities import subtract


@dataclass(frozen=True, slots=True)
class PoolArithmetic:
    """One pool at its maximum size; each of the terms has every resource of the pool.

    Attributes:
        allocatable: of all nodes.
        daemon_sets: requests of the daemon sets of components.
        controllers: the most that controllers can request on these nodes, on whichever nodes the scheduler puts them.
        reserved: amounts that the spec reserves for other daemon sets.
        guaranteed: nominal quota of all teams together.
        unassigned: the rest, which teams may borrow or which is kept back; all of it on a pool without teams.
        node: amounts of one node in a guarantee (`nodes: 1`); empty on a pool without teams.
    """

    pool: str
    nodes: int
    allocatable: Amounts
    daemon_sets: Amounts
    controllers: Amounts
    reserved: Amounts
    guaranteed: Amounts
    unassigned: Amounts
    node: Amounts


def arithmetic(plan: Plan) -> tuple[PoolArithmetic, ...]:
    """Return the terms for each pool, in the plan's order."""
    guaranteed = guaranteed_per_pool(plan.teams)
    return tuple(_of(pool, guaranteed.get(pool.name, {})) for pool in plan.pools)


def _of(pool: Pool, guaranteed: Amounts) -> PoolArithmetic:
    allocatable = _all_nodes(pool, pool.allocatable)
    kept = subtract(pool.allocatable, pool.usable)
    return PoolArithmetic(
        pool=pool.name,
        nodes=pool.max_size,
        allocatable=allocatable,
        daemon_sets=_all_nodes(pool, subtract(kept, pool.reserved)),
        controllers=_every(pool, pool.controllers),
        reserved=_all_nodes(pool, _every(pool, pool.reserved)),
        guaranteed=_every(pool, guaranteed),
        unassigned=subtract(pool.capacity, guaranteed),
        node={} if pool.system_only else pool.node_share,
    )


def _every(pool: Pool, amounts: Amounts) -> dict[str, int]:
    return {name: amounts.get(name, 0) for name in pool.allocatable}


def _all_nodes(pool: Pool, amounts: Amounts) -> dict[str, int]:
    return {name: amount * pool.max_size for name, amount in amounts.items()}
