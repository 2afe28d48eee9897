"""Checks of settings under `components` that mlcluster or the chart would ignore."""

import re
from collections.abc import Iterator

from pydantic.alias_generators import to_camel

from mlcluster.spec.checks.components_network import WITHOUT_CHARTS
from mlcluster.spec.checks.facts import units
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.components import ChartComponent
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.known import as_far_as_known

_SECONDS = {"s": 1, "m": 60, "h": 3600}
_LONGEST = 366 * 24 * 3600
"""A year. Kueue reads Go durations, which end at 292 years, and does not start with a longer one."""


def components_given_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Yield the problems of empty components, of values for a component that is not installed, and of zero amounts."""
    for name in sorted(spec.components.model_fields_set):
        yield from _component(spec, name)
    yield from _times(spec)
    yield from _amounts(spec)


@as_far_as_known
def _component(spec: ClusterSpec, name: str) -> Iterator[Problem]:
    key, settings = to_camel(name), getattr(spec.components, name)
    here: Loc = ("components", key)
    if settings is None:
        hint = "remove the key" if name == "registry" else f"{key}: {{}} asks for it; without the key its default holds"
        yield Problem(here, "is empty, which says nothing", hint, key=True)
    if isinstance(settings, ChartComponent):
        yield from _values((*here, "values"), settings)
        yield from _dotted((*here, "values"), settings)


@as_far_as_known
def _values(here: Loc, settings: ChartComponent) -> Iterator[Problem]:
    if not settings.install and settings.values and here[-2] not in WITHOUT_CHARTS:
        message = "mlcluster does not install this component (install: false), so these values would have no effect"
        yield Problem(here, message, "remove them, or remove install: false", key=True)


@as_far_as_known
def _dotted(here: Loc, settings: ChartComponent) -> Iterator[Problem]:
    """Yield a problem for each name with dots: `a.b: 1` nests only in `helm --set`, in values it is one name."""
    for name in settings.values:
        parts = name.split(".")
        if len(parts) > 1:
            message = "values are nested mappings here, without dots in their names: no chart would read this"
            yield Problem((*here, name), message, f"write {': {'.join(parts)}: ...{'}' * (len(parts) - 1)}", key=True)


@as_far_as_known
def _times(spec: ClusterSpec) -> Iterator[Problem]:
    kueue = spec.components.kueue
    given = {"podsReadyTimeout": (kueue.pods_ready_timeout, 1), "keepFinished": (kueue.keep_finished or "0s", 0)}
    for key, (written, least) in given.items():
        seconds = sum(int(count) * _SECONDS[unit] for count, unit in re.findall(r"([0-9]+)([smh])", written))
        if not least <= seconds <= _LONGEST:
            message = f'"{written}" is {"longer than a year" if seconds else "no time at all"}'
            yield Problem(("components", "kueue", key), message, 'for example "30m"')


@as_far_as_known
def _amounts(spec: ClusterSpec) -> Iterator[Problem]:
    monitoring = spec.components.monitoring
    if monitoring is None or not monitoring.install:
        return
    for key, written in {"storage": monitoring.storage, "memory": monitoring.memory}.items():
        if units("memory", written) == 0:
            message = f'"{written}" is nothing'
            yield Problem(
                ("components", "monitoring", key), message, f"for example {'100Gi' if key == 'storage' else '4Gi'}"
            )
    if not re.search(r"[1-9]", monitoring.retention):
        message = f'"{monitoring.retention}" is no time at all, for which Prometheus takes its own default'
        yield Problem(("components", "monitoring", "retention"), message, "for example 15d")
