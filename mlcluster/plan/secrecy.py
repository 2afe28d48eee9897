"""Secrets among the chart values of a spec: never printed, and encrypted in the state."""

from collections.abc import Mapping
from typing import Any

from mlcluster.plan.model import Manifest, PlanRelease, ValuePath
from mlcluster.plan.value_paths import value_at, with_value
from mlcluster.spec.masking import is_secret

HIDDEN = "********"


def secret_overrides(release: PlanRelease) -> tuple[ValuePath, ...]:
    """Return the overrides of a release that look like secrets or hold one, by the names of their keys."""
    values = release.values
    return tuple(path for path in release.overrides if value_at(values, path) != _hidden_at(values, path))


def shown_values(release: PlanRelease) -> Manifest:
    """Return the values of a release with every secret hidden."""
    values: Manifest = release.values
    for path in secret_overrides(release):
        values = with_value(values, path, _hidden_at(release.values, path))
    return values


def _hidden_at(values: Manifest, path: ValuePath) -> Any:
    return _hidden(path[-1], value_at(values, path))


def _hidden(key: str, value: Any) -> Any:
    """Return the value with every secret hidden: a text in the form of a secret, or under the key of one."""
    if isinstance(value, Mapping):
        return {name: _hidden(name, part) for name, part in value.items()}
    if isinstance(value, list):
        return [_hidden(key, part) for part in value]
    return HIDDEN if isinstance(value, str) and value and is_secret((key,), value) else value
