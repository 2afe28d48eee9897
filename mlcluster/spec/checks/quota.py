"""Checks of amounts: valid units, guarantees within the pool at `maxSize`, lending limits within the guarantee."""

from collections.abc import Iterator, Mapping
from contextlib import suppress

from mlcluster.spec.base import UnknownValueError
from mlcluster.spec.checks.amounts import PoolSize, Unit, amount_units, finest, pool_size, spelled
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.partial_checks import stop_at_unknown_value
from mlcluster.spec.resolved_pools import ResolvedPool
from mlcluster.spec.teams import Amount, Team

_SHOWN = 6
Share = tuple[int, str, Unit, int]
"""The index of the team, its name, the unit and the count."""


def quota_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Yield problems for invalid amounts, guarantees that exceed the pools, and lending limits above the guarantee."""
    sizes = _pool_sizes(spec)
    for index, team in enumerate(spec.teams):
        for key in ("guarantee", "borrow", "lend"):
            yield from _amounts(("teams", index, key), team, sizes)
    for pool, size in sizes.items():
        yield from _guarantees(spec, pool, size)
    for index, team in enumerate(spec.teams):
        yield from _lending_limits(("teams", index, "lend"), team, sizes)


@stop_at_unknown_value
def _amounts(here: Loc, team: Team, sizes: Mapping[str, PoolSize]) -> Iterator[Problem]:
    amounts = getattr(team, str(here[-1]))
    for pool, amount in amounts.items() if isinstance(amounts, dict) else ():
        if isinstance(amount, Amount):
            yield from stop_at_unknown_value(_amount_problems)((*here, pool), amount, sizes.get(pool))


@stop_at_unknown_value
def _guarantees(spec: ClusterSpec, pool: str, size: PoolSize) -> Iterator[Problem]:
    shares: list[Share] = []
    for index, team in enumerate(spec.teams):
        amount = team.guarantee.get(pool)
        if amount is not None and _usable(amount, size):
            unit, count = amount_units(amount)[0]
            shares.append((index, team.name, unit, count))
    if shares:
        yield from _excess(size, shares)


def _pool_sizes(spec: ClusterSpec) -> Mapping[str, PoolSize]:
    """Return the sizes of the pools with known nodes, by name; of pools with the same name the first."""
    sizes: dict[str, PoolSize | None] = {}
    for pool in spec.resolved_pools:
        with suppress(UnknownValueError):
            sizes.setdefault(pool.name, None if pool.name in sizes else _size(pool))
    return {name: size for name, size in sizes.items() if size is not None}


def _size(pool: ResolvedPool) -> PoolSize | None:
    """Return the size of a pool; None if its nodes are unknown."""
    with suppress(UnknownValueError):
        return pool_size(pool) if pool.has_known_node else None
    return None


def _usable(amount: Amount, size: PoolSize) -> bool:
    """Return whether the amount is valid for the pool."""
    return not any(_amount_problems((), amount, size))


def _amount_problems(loc: Loc, amount: Amount, size: PoolSize | None) -> Iterator[Problem]:
    """Yield the problem of an amount; `size` is None for an unknown pool."""
    units = [unit for unit, _ in amount_units(amount)]
    if not units:
        yield Problem(loc, "expected an amount, got an empty mapping", "Set one of `nodes`, `gpus` and `slices`")
    elif len(units) > 1:
        message = f"{' and '.join(units)} are mutually exclusive: an amount has one unit"
        yield Problem(loc, message, "Keep one of them")
    elif size is not None and units[0] != "nodes" and not size.gpus:
        yield Problem((*loc, units[0]), f"pool {size.name} has no GPUs", "Use `nodes`", key=True)
    elif size is not None and units[0] == "slices" and not size.shared:
        message = f"pool {size.name} has no slices, because its GPUs are not shared"
        yield Problem((*loc, "slices"), message, "Use `gpus`, or set `gpu.mig` or `gpu.timeSlicing`", key=True)
    elif size is not None and units[0] == "slices" and not size.uniform:
        message = f"the slices of pool {size.name} have several sizes, so a number of slices is ambiguous"
        yield Problem((*loc, "slices"), message, "Use `gpus` or `nodes`, which is a share of each size", key=True)


def _excess(size: PoolSize, shares: list[Share]) -> Iterator[Problem]:
    """Yield a problem for each guarantee that exceeds the pool, or else for the team where the sum exceeds it."""
    alone = [share for share in shares if share[3] > size.total(share[2])]
    for index, team, unit, count in alone:
        message = (
            f"team {team} has a guarantee of {spelled(count, unit)} of pool {size.name}, which has {size.total(unit)}"
        )
        yield Problem(("teams", index, "guarantee", size.name, unit), message, _hint(size))
    if alone:
        return
    common = finest([unit for _, _, unit, _ in shares])
    total, terms = 0, []
    for index, team, unit, count in shares:
        total += count * size.worth(unit, common)
        terms.append((team, count * size.worth(unit, common)))
        if total > size.total(common):
            yield Problem(("teams", index, "guarantee", size.name, unit), _sum(size, shares, common), _hint(size))
            return


def _sum(size: PoolSize, shares: list[Share], common: Unit) -> str:
    terms = [f"{team} {count * size.worth(unit, common)}" for _, team, unit, count in shares]
    more = f" + {len(terms) - _SHOWN} more teams" if len(terms) > _SHOWN else ""
    total = sum(count * size.worth(unit, common) for _, _, unit, count in shares)
    sum_of_terms = f"{' + '.join(terms[:_SHOWN])}{more} = {total} {common}"
    return f"the guarantees exceed pool {size.name}: {sum_of_terms}, and the pool has {size.total(common)}"


def _hint(size: PoolSize) -> str:
    return f"Lower the guarantees, or raise `maxSize` of {size.name} from {size.nodes}"


@stop_at_unknown_value
def _lending_limits(here: Loc, team: Team, sizes: Mapping[str, PoolSize]) -> Iterator[Problem]:
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
    if not isinstance(limit, Amount) or not _usable(limit, size) or not _usable(guarantee, size):
        return
    (unit, count), (own_unit, own_count) = amount_units(limit)[0], amount_units(guarantee)[0]
    common = finest([unit, own_unit])
    if count * size.worth(unit, common) > own_count * size.worth(own_unit, common):
        message = f"expected at most the guarantee, {spelled(own_count, own_unit)}, got {spelled(count, unit)}"
        yield Problem((*loc, unit), message, "Set `lend: all` to lend the whole guarantee")
