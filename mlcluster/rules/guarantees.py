"""Rules on guarantees: each is available as a whole, wherever controllers and other teams' pods run."""

from collections.abc import Iterator, Mapping

from mlcluster.findings import Finding, finding
from mlcluster.plan.model import Plan, Pool
from mlcluster.plan.places import place
from mlcluster.plan.quantities import canonical, subtract
from mlcluster.plan.queues import queued_teams
from mlcluster.plan.quota import amounts_of, for_teams
from mlcluster.plan.topology import pool_levels
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.suggestions import listed
from mlcluster.spec.teams import Amount

NATIVE = ("cpu", "memory", "ephemeral-storage", "pods")
"""Resources that every pod uses: a share without one of them runs nothing."""


def guarantees_without_room(plan: Plan, spec: ClusterSpec) -> Iterator[Finding]:
    """QTA005: a guarantee that no node can hold, because controllers may take the room."""
    pools = {pool.name: pool for pool in plan.pools}
    for index, team in enumerate(spec.teams):
        for name, amount in team.guarantee.items():
            pool, unit = pools[name], _one(amount)
            share = amounts_of(pool, unit)
            missing = [resource for resource in NATIVE if not share.get(resource, 0)]
            if missing and not amount.is_nothing:
                terms = "; ".join(f"{_arithmetic(pool, resource)}{_parts(pool, unit)}" for resource in missing)
                taken = any(pool.usable[resource] > pool.node_share[resource] for resource in missing)
                elsewhere = "another pool with systemOnly: true for controllers, or " if taken else ""
                yield finding(
                    "QTA005",
                    ("teams", index, "guarantee", name),
                    f"no node of {name} is sure to hold {_spelled(unit)} of team {team.name}: {terms}",
                    f"larger nodes, or {elsewhere}no guarantee of {name}",
                )


def whole_nodes_beside_gpus(plan: Plan, spec: ClusterSpec) -> Iterator[Finding]:
    """QTA006: some teams are guaranteed whole nodes of a pool and others single GPUs, which may stand on each node."""
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
                f"Pods with one GPU each may stand on {touched} of its {pool.max_size} nodes, which leaves "
                f"{_count(pool.max_size - touched, 'node')} whole",
                "guarantee nodes to each of these teams, or gpus to each; or two pools",
            )


def topology_beside_pools_without(plan: Plan, spec: ClusterSpec) -> Iterator[Finding]:
    """KUE007: a team is guaranteed some of a pool with topology, and has quota of one without.

    Kueue admits a workload that asks for no place to flavors with topology only where all flavors of its queue have
    one (isTASOnly in 0.18.3; seen on the lab: `supports only TopologyAwareScheduling`).
    """
    levels = pool_levels(spec, for_teams(plan.pools))
    for team in queued_teams(plan) if levels else ():
        placed = [quota.pool for quota in team.quotas if quota.pool in levels and any(quota.nominal.values())]
        others = [quota.pool for quota in team.quotas if quota.pool not in levels]
        if placed and others:
            yield finding(
                "KUE007",
                (*place(team.spec_path), "guarantee", placed[0]),
                f"Kueue admits no job of team {team.name} to {placed[0]}, which has topology, unless the job asks for "
                f"a place: {others[0]}, of which the team has quota too, has none",
                f"set minSize of {others[0]}, take it from the team's guarantee and borrow, or remove topology",
            )


def pools_full_of_controllers(plan: Plan) -> Iterator[Finding]:
    """QTA007: controllers may take all of a resource of a pool, so that nothing is left for teams."""
    for pool in for_teams(plan.pools) if plan.teams else ():
        missing = [name for name in NATIVE if pool.usable.get(name) and not pool.capacity[name]]
        if missing:
            yield finding(
                "QTA007",
                place(pool.spec_path),
                f"controllers may take all {listed(missing)} of {pool.name}: its quota is nothing, and work of teams "
                "goes elsewhere",
                f"systemOnly: true for {pool.name}, or larger nodes",
            )


def _one(amount: Amount) -> Amount:
    """Return one piece in the unit of an amount: what is promised to fit whole."""
    return Amount(**{unit: 1 for unit in ("nodes", "gpus", "slices") if getattr(amount, unit) is not None})


def _spelled(unit: Amount) -> str:
    if unit.nodes is not None:
        return "the share of one node"
    return "the share of one GPU" if unit.gpus is not None else "the share of one slice"


def _parts(pool: Pool, unit: Amount) -> str:
    """Return into how many parts the share of a node goes, where one is less than the node's."""
    if pool.accelerator is None or unit.nodes is not None:
        return ""
    return f", for {_count(pool.accelerator.gpus, 'GPU') if unit.gpus else _count(pool.accelerator.slices, 'slice')}"


def _arithmetic(pool: Pool, resource: str) -> str:
    """Return, for one resource of one node: allocatable - daemon sets and reserved - controllers."""

    def spelled(amounts: Mapping[str, int]) -> str:
        return canonical(resource, amounts.get(resource, 0))

    taken = subtract(pool.usable, pool.node_share)
    kept = f"{resource} {spelled(pool.allocatable)} - {spelled(pool.overhead)} for daemon sets and reserved"
    more = " or more" if taken[resource] and not pool.node_share[resource] else ""
    return f"{kept} - {spelled(taken)}{more} for controllers = {spelled(pool.node_share)}"


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
