"""Check for settings under `components` that mlcluster or the chart would ignore."""

import re
from collections.abc import Iterator

from pydantic.alias_generators import to_camel

from mlcluster.quantities import parse
from mlcluster.spec.checks.components_network import WITHOUT_CHARTS
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.components import ChartComponent
from mlcluster.spec.document import Loc, Problem
from mlcluster.spec.partial_checks import stop_at_unknown_value

_SECONDS = {"s": 1, "m": 60, "h": 3600}
_LONGEST = 366 * 24 * 3600
"""One year. Kueue does not start with a duration that exceeds the 292 years of a Go duration."""


def component_setting_problems(spec: ClusterSpec) -> Iterator[Problem]:
    """Yield problems for empty components, for values of components that are not installed, and for zero amounts."""
    for name in sorted(spec.components.model_fields_set):
        yield from _component(spec, name)
    yield from _durations(spec)
    yield from _amounts(spec)


@stop_at_unknown_value
def _component(spec: ClusterSpec, name: str) -> Iterator[Problem]:
    key, settings = to_camel(name), getattr(spec.components, name)
    here: Loc = ("components", key)
    if settings is None:
        remove = "Remove the field to use the default"
        hint = remove if name == "registry" else f"Set `{key}: {{}}` to install it with its defaults. {remove}"
        yield Problem(here, "expected a value, got an empty one", hint, key=True)
    if isinstance(settings, ChartComponent):
        yield from _values((*here, "values"), settings)
        yield from _dotted_names((*here, "values"), settings)


@stop_at_unknown_value
def _values(here: Loc, settings: ChartComponent) -> Iterator[Problem]:
    if not settings.install and settings.values and here[-2] not in WITHOUT_CHARTS:
        message = "the values have no effect, because mlcluster does not install the component (install: false)"
        yield Problem(here, message, "Remove `values` or `install: false`", key=True)


@stop_at_unknown_value
def _dotted_names(here: Loc, settings: ChartComponent) -> Iterator[Problem]:
    """Yield a problem for each name with dots: `a.b` is a path for `helm --set`, but a single name in values."""
    for name in settings.values:
        parts = name.split(".")
        if len(parts) > 1:
            message = "no chart reads a value with dots in its name; values are nested mappings"
            nested = f"{': {'.join(parts)}: ...{'}' * (len(parts) - 1)}"
            yield Problem((*here, name), message, f"Write `{nested}`", key=True)


@stop_at_unknown_value
def _durations(spec: ClusterSpec) -> Iterator[Problem]:
    kueue = spec.components.kueue
    given = {"podsReadyTimeout": (kueue.pods_ready_timeout, 1), "keepFinished": (kueue.keep_finished or "0s", 0)}
    for key, (written, least) in given.items():
        seconds = sum(int(count) * _SECONDS[unit] for count, unit in re.findall(r"([0-9]+)([smh])", written))
        if not least <= seconds <= _LONGEST:
            message = f'the duration "{written}" is {"longer than a year" if seconds else "zero"}'
            yield Problem(("components", "kueue", key), message, 'For example "30m"')


@stop_at_unknown_value
def _amounts(spec: ClusterSpec) -> Iterator[Problem]:
    monitoring = spec.components.monitoring
    if monitoring is None or not monitoring.install:
        return
    for key, written in {"storage": monitoring.storage, "memory": monitoring.memory}.items():
        if parse("memory", written) == 0:
            message = f'the quantity "{written}" is zero'
            hint = f"For example {'100Gi' if key == 'storage' else '4Gi'}"
            yield Problem(("components", "monitoring", key), message, hint)
    if not re.search(r"[1-9]", monitoring.retention):
        message = f'the retention "{monitoring.retention}" is zero, which Prometheus replaces with its own default'
        yield Problem(("components", "monitoring", "retention"), message, "For example 15d")
