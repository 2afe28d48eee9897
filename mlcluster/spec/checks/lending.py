"""Check lending limits: at most the guarantee."""

from collections.abc import Iterator, Mapping

from mlcluster.spec.checks.amounts import PoolSize, amount_units, finest, spelled
from mlcluster.spec.checks.quota import pool_sizes, usable
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.partial_checks import stop_at_unknown_value
from mlcluster.spec.teams import Amount, Team


def lending_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Yield problems for lending limits that exceed the guarantee."""
    sizes = pool_sizes(spec)
    for index, team in enumerate(spec.teams):
        yield from _team(("teams", index, "lend"), team, sizes)


@stop_at_unknown_value
def _team(here: Loc, team: Team, sizes: Mapping[str, PoolSize]) -> Iterator[Problem]:
    if isinstance(team.lend, dict):
        for pool, limit in team.lend.items():
            yield from _lend((*here, pool), team, pool, limit, sizes)


@stop_at_unknown_value
def _lend(loc: Loc, team: Team, pool: str, limit: object, sizes: Mapping[str, PoolSize]) -> Iterator[Problem]:
    size, guarantee = sizes.get(pool), team.guarantee.get(pool)
    if size is None:
        return
    if guarantee is None:
        message = f"team {team.name} has no guarantee of pool {pool} to lend"
        yield Problem(loc, message, "Remove it, or add a guarantee", key=True)
        return
    if not isinstance(limit, Amount) or not usable(limit, size) or not usable(guarantee, size):
        return
    (unit, count), (own_unit, own_count) = amount_units(limit)[0], amount_units(guarantee)[0]
    common = finest([unit, own_unit])
    if count * size.worth(unit, common) > own_count * size.worth(own_unit, common):
        message = f"expected at most the guarantee, {spelled(own_count, own_unit)}, got {spelled(count, unit)}"
        yield Problem((*loc, unit), message, "Set `lend: all` to lend the whole guarantee")
