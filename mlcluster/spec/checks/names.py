"""Names: used once, and not those that Kubernetes, Kueue or mlcluster keep for themselves."""

from collections.abc import Iterator, Sequence

from mlcluster.catalog.components import pins
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Loc, Problem

_SYSTEM_NAMESPACES = frozenset({"default", "mlcluster", *(pin.namespace for pin in pins().values())})
_SYSTEM_PREFIXES = ("kube-", "mlcluster-")


def name_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Names that are given twice or taken."""
    yield from _twice(("nodePools",), "name", [pool.name for pool in spec.node_pools])
    yield from _twice(("teams",), "name", [team.name for team in spec.teams])
    yield from _twice(("priorityTiers",), "name", [tier.name for tier in spec.priority_tiers])
    yield from _twice(("priorityTiers",), "value", [tier.value for tier in spec.priority_tiers])
    yield from _twice(("cohorts",), "name", [cohort.name for cohort in spec.cohorts])
    yield from _twice(("allow",), "id", [allowed.id for allowed in spec.allow])
    if spec.target.kind == "local":
        yield from _twice(("target", "zones"), "", spec.target.zones)
    yield from _taken_teams(spec)
    for index, tier in enumerate(spec.priority_tiers):
        if tier.name.startswith("system-"):
            message = "Kubernetes keeps priority classes that begin with system- for itself"
            yield Problem(("priorityTiers", index, "name"), message, "choose another name")


def _twice(place: Loc, key: str, names: Sequence[str | int]) -> Iterator[Problem]:
    first: dict[str | int, int] = {}
    for index, name in enumerate(names):
        if name in first:
            loc = (*place, index, key) if key else (*place, index)
            there = f"{'.'.join(map(str, place))}[{first[name]}]"
            what = f"the {key} of {there}" if key else there
            yield Problem(loc, f"{name} is {what} already", "give each its own")
        first.setdefault(name, index)


def _taken_teams(spec: ClusterSpec) -> Iterator[Problem]:
    for index, team in enumerate(spec.teams):
        if team.name in _SYSTEM_NAMESPACES or team.name.startswith(_SYSTEM_PREFIXES):
            message = f"a team's namespace cannot be {team.name}, which belongs to the system"
            hint = "choose another name, e.g. " + f"team-{team.name}"[:40]
            yield Problem(("teams", index, "name"), message, hint)
