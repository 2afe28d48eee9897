"""Checks of names: no duplicates, and no names that Kubernetes, Kueue or mlcluster reserve."""

from collections.abc import Iterable, Iterator
from operator import attrgetter

from pydantic.alias_generators import to_camel

from mlcluster.catalog.components import pins
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.partial_checks import known_values, stop_at_unknown_value

_SYSTEM_NAMESPACES = frozenset({"default", "mlcluster", *(pin.namespace for pin in pins().values())})
_SYSTEM_PREFIXES = ("kube-", "mlcluster-")
_UNIQUE = (
    ("node_pools", "name"),
    ("teams", "name"),
    ("priority_tiers", "name"),
    ("priority_tiers", "value"),
    ("cohorts", "name"),
    ("allow", "id"),
)


def name_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Yield problems for duplicate and reserved names."""
    for part, key in _UNIQUE:
        yield from _duplicate_names(spec, part, key)
    yield from _zones(spec)
    yield from _reserved_teams(spec)
    yield from _reserved_tiers(spec)


@stop_at_unknown_value
def _duplicate_names(spec: ClusterSpec, part: str, key: str) -> Iterator[Problem]:
    yield from _duplicates((to_camel(part),), key, known_values(getattr(spec, part), attrgetter(key)))


@stop_at_unknown_value
def _zones(spec: ClusterSpec) -> Iterator[Problem]:
    if spec.target.kind == "local":
        yield from _duplicates(("target", "zones"), "", enumerate(spec.target.zones))


def _duplicates(place: Loc, key: str, names: Iterable[tuple[int, str | int]]) -> Iterator[Problem]:
    first: dict[str | int, int] = {}
    for index, name in names:
        if name in first:
            loc = (*place, index, key) if key else (*place, index)
            there = f"{'.'.join(map(str, place))}[{first[name]}]"
            what = f"the {key} of {there}" if key else there
            yield Problem(loc, f"duplicate {key or 'value'} {name}; it is also {what}", "Use a unique one")
        first.setdefault(name, index)


@stop_at_unknown_value
def _reserved_tiers(spec: ClusterSpec) -> Iterator[Problem]:
    for index, name in known_values(spec.priority_tiers, lambda tier: tier.name):
        if name.startswith("system-"):
            message = "Kubernetes reserves the prefix system- of priority classes"
            yield Problem(("priorityTiers", index, "name"), message, "Choose another name")


@stop_at_unknown_value
def _reserved_teams(spec: ClusterSpec) -> Iterator[Problem]:
    for index, name in known_values(spec.teams, lambda team: team.name):
        if name in _SYSTEM_NAMESPACES or name.startswith(_SYSTEM_PREFIXES):
            message = f"{name} is a reserved namespace"
            hint = "Choose another name, for example " + f"team-{name}"[:40]
            yield Problem(("teams", index, "name"), message, hint)
