"""Checks of references to pools, tiers, cohorts and findings."""

from collections.abc import Iterator

from mlcluster.findings import REGISTRY
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.partial_checks import known_values, stop_at_unknown_value
from mlcluster.spec.suggestions import did_you_mean, listed
from mlcluster.spec.teams import Team

_BY_POOL = ("guarantee", "borrow", "lend")


def reference_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Yield problems for references to unknown names."""
    for index, team in enumerate(spec.teams):
        here: Loc = ("teams", index)
        for key in _BY_POOL:
            yield from _pools((*here, key), spec, team)
        yield from _tiers((*here, "tiers"), spec, team)
        yield from _cohort(here, team, spec)
    yield from _findings(spec)


@stop_at_unknown_value
def _findings(spec: ClusterSpec) -> Iterator[Problem]:
    for index, allowed in enumerate(spec.allow):
        if allowed.id not in REGISTRY:
            hint = did_you_mean(allowed.id, REGISTRY, otherwise="docs/findings.md lists all findings")
            yield Problem(("allow", index, "id"), f"unknown finding {allowed.id}", hint)
        if not allowed.reason.strip():
            yield Problem(
                ("allow", index, "reason"), "expected a reason, got only spaces", "Write why this finding is acceptable"
            )


@stop_at_unknown_value
def _pools(here: Loc, spec: ClusterSpec, team: Team) -> Iterator[Problem]:
    shares, pools = getattr(team, str(here[-1])), [pool.name for pool in spec.node_pools]
    marked = known_values(spec.node_pools, lambda pool: pool.system_only)
    system = {pools[index] for index, only in marked if only}
    for name in shares if isinstance(shares, dict) else ():
        if name not in pools:
            hint = did_you_mean(name, pools, otherwise=f"Pools: {listed(pools)}")
            yield Problem((*here, name), f"unknown pool {name}", hint, key=True)
        elif name in system:
            message = f"pool {name} is systemOnly, so teams cannot use it"
            yield Problem((*here, name), message, f"Use another pool, or remove `systemOnly` from {name}", key=True)


@stop_at_unknown_value
def _tiers(here: Loc, spec: ClusterSpec, team: Team) -> Iterator[Problem]:
    tiers = [tier.name for tier in spec.priority_tiers]
    for index, name in enumerate(team.tiers or ()):
        if name not in tiers:
            hint = did_you_mean(name, tiers, otherwise=f"Tiers: {listed(tiers)}")
            yield Problem((*here, index), f"unknown priority tier {name}", hint)
        elif name in (team.tiers or [])[:index]:
            yield Problem((*here, index), f"duplicate tier {name}", "Remove one of the two")


@stop_at_unknown_value
def _cohort(here: Loc, team: Team, spec: ClusterSpec) -> Iterator[Problem]:
    cohorts = spec.cohort_names
    if team.cohort is None and len(cohorts) > 1:
        yield Problem(
            here, "cohort is missing; the spec has several cohorts", f"Add `cohort`: {' or '.join(cohorts[:6])}"
        )
    elif team.cohort is not None and team.cohort not in cohorts:
        hint = did_you_mean(team.cohort, cohorts, otherwise=f"Cohorts: {listed(cohorts)}")
        yield Problem((*here, "cohort"), f"unknown cohort {team.cohort}", hint)
