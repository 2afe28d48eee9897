"""Rules on guarantees: each is available as a whole, on whichever nodes controllers and other teams run."""

from collections.abc import Iterator, Mapping

from mlcluster.findings import Finding, finding
from mlcluster.plan.model import Plan, Pool
from mlcluster.plan.queues import queued_teams
from mlcluster.plan.quota import amounts_of, for_teams
from mlcluster.plan.topology import pool_levels
from mlcluster.quantities import canonical, subtract
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.suggestions import listed
from mlcluster.spec.teams import Amount

NATIVE = ("cpu", "memory", "ephemeral-storage", "pods")
"""Resources that every pod uses: a share without one of them can run no pod."""


def guarantees_without_room(plan: Plan, spec: ClusterSpec) -> Iterator[Finding]:
    """QTA005: controllers may leave no node with enough resources for one unit of a guarantee."""
    pools = {pool.name: pool for pool in plan.pools}
    for index, team in enumerate(spec.teams):
        for name, amount in team.guarantee.items():
            pool, unit = pools[name], _one(amount)
            share = amounts_of(pool, unit)
            missing = [resource for resource in NATIVE if not share.get(resource, 0)]
            if missing and not amount.is_nothing:
                terms = "; ".join(f"{_arithmetic(pool, resource)}{_parts(pool, unit)}" for resource in missing)
                taken = any(pool.usable[resource] > pool.node_share[resource] for resource in missing)
                elsewhere = ", add a pool with `systemOnly: true` for controllers" if taken else ""
                yield finding(
                    "QTA005",
                    ("teams", index, "guarantee", name),
                    f"no node of {name} is certain to hold {_spelled(unit)} of team {team.name}: {terms}",
                    f"Use larger nodes{elsewhere}, or remove the guarantee of {name}.",
                )


def whole_nodes_beside_gpus(plan: Plan, spec: ClusterSpec) -> Iterator[Finding]:
    """QTA006: some teams have a guarantee of whole nodes of a pool, and others of single GPUs on any of its nodes."""
    for pool in for_teams(plan.pools):
        if pool.accelerator is None or pool.accelerator.sharing != "whole":
            continue
        given = [(index, team.name, team.guarantee[pool.name]) for index, team in enumerate(spec.teams)
                 if pool.name in team.guarantee]  # fmt: skip
        nodes = sum(amount.nodes or 0 for _, _, amount in given)
        gpus = sum(amount.gpus or 0 for _, _, amount in given)
        touched = min(gpus, pool.max_size)
        if nodes and gpus and nodes > pool.max_size - touched:
            index = next(index for index, _, amount in given if amount.gpus)
            whole = listed([name for _, name, amount in given if amount.nodes])
            parts = listed([name for _, name, amount in given if amount.gpus])
            yield finding(
                "QTA006",
                ("teams", index, "guarantee", pool.name),
                f"{whole}: {_count(nodes, 'whole node')} of {pool.name} guaranteed; {parts}: {_count(gpus, 'GPU')}. "
                f"Pods with one GPU each may run on {touched} of its {pool.max_size} nodes, which leaves "
                f"{_count(pool.max_size - touched, 'node')} whole",
                "Guarantee nodes to each of these teams, or GPUs to each, or use two pools.",
            )


def topology_beside_pools_without(plan: Plan, spec: ClusterSpec) -> Iterator[Finding]:
    """KUE007: a team has a guarantee in a pool with topology, and quota in a pool without.

    Kueue admits a workload without a topology request to flavors with topology only if all flavors of its queue have
    one (isTASOnly in 0.18.3; seen on the lab: `supports only TopologyAwareScheduling`).
    """
    levels = pool_levels(spec, for_teams(plan.pools))
    for team in queued_teams(plan) if levels else ():
        placed = [quota.pool for quota in team.quotas if quota.pool in levels and any(quota.nominal.values())]
        others = [quota.pool for quota in team.quotas if quota.pool not in levels]
        if placed and others:
            yield finding(
                "KUE007",
                (*team.spec_path, "guarantee", placed[0]),
                f"{placed[0]} has topology and {others[0]} has none: team {team.name} has quota of both, so Kueue "
                f"admits to {placed[0]} only those of its jobs that request a topology",
                f"Set minSize of {others[0]}, remove it from the team's guarantee and borrow, or remove topology.",
            )


def pools_full_of_controllers(plan: Plan) -> Iterator[Finding]:
    """QTA007: controllers may use all of one resource of a pool, so teams have no quota in it."""
    for pool in for_teams(plan.pools) if plan.teams else ():
        missing = [name for name in NATIVE if pool.usable.get(name) and not pool.capacity[name]]
        if missing:
            yield finding(
                "QTA007",
                pool.spec_path,
                f"controllers may use all {listed(missing)} of {pool.name}, so teams have no quota in it",
                f"Set `systemOnly: true` for {pool.name}, or use larger nodes.",
            )


def _one(amount: Amount) -> Amount:
    """Return one unit of an amount: a node, a GPU or a slice. A guarantee promises that each unit fits a node."""
    return Amount(**{unit: 1 for unit in ("nodes", "gpus", "slices") if getattr(amount, unit) is not None})


def _spelled(unit: Amount) -> str:
    if unit.nodes is not None:
        return "the share of one node"
    return "the share of one GPU" if unit.gpus is not None else "the share of one slice"


def _parts(pool: Pool, unit: Amount) -> str:
    """Return the number of units that divide the share of a node, as text; "" if the unit is the node."""
    if pool.accelerator is None or unit.nodes is not None:
        return ""
    return f", for {_count(pool.accelerator.gpus, 'GPU') if unit.gpus else _count(pool.accelerator.slices, 'slice')}"


def _arithmetic(pool: Pool, resource: str) -> str:
    """Return the arithmetic of one resource of one node: allocatable - daemon sets and reserved - controllers."""

    def spelled(amounts: Mapping[str, int]) -> str:
        return canonical(resource, amounts.get(resource, 0))

    taken = subtract(pool.usable, pool.node_share)
    kept = f"{resource} {spelled(pool.allocatable)} - {spelled(pool.overhead)} for daemon sets and reserved"
    more = " or more" if taken[resource] and not pool.node_share[resource] else ""
    return f"{kept} - {spelled(taken)}{more} for controllers = {spelled(pool.node_share)}"


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
