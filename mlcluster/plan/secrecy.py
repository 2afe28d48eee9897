"""Secrets among the values that a spec gives to a chart: never printed, and encrypted in the state."""

from collections.abc import Mapping
from typing import Any, Protocol

from mlcluster.plan.model import Manifest
from mlcluster.spec.masking import is_secret

HIDDEN = "********"


class Overridden(Protocol):
    """What a release tells of its values."""

    @property
    def values(self) -> dict[str, Any]: ...
    @property
    def overrides(self) -> tuple[str, ...]: ...


def secret_overrides(release: Overridden) -> tuple[str, ...]:
    """Those of the release's overrides that look like secrets, or hold one, by the names of their keys."""
    return tuple(path for path in release.overrides if _at(release.values, path) != _hidden_at(release.values, path))


def shown_values(release: Overridden) -> Manifest:
    """The release's values as they may be printed."""
    values: Manifest = release.values
    for path in secret_overrides(release):
        values = _laid(values, path.split("."), _hidden_at(release.values, path))
    return values


def _hidden_at(values: Manifest, path: str) -> Any:
    return _hidden(path.rpartition(".")[2], _at(values, path))


def _hidden(key: str, value: Any) -> Any:
    """The value, with every text in it hidden that its key, or its own look, gives away."""
    if isinstance(value, Mapping):
        return {name: _hidden(name, part) for name, part in value.items()}
    if isinstance(value, list):
        return [_hidden(key, part) for part in value]
    return HIDDEN if isinstance(value, str) and value and is_secret((key,), value) else value


def _at(values: Manifest, path: str) -> Any:
    found: Any = values
    for key in path.split("."):
        found = found[key]
    return found


def _laid(values: Manifest, path: list[str], value: Any) -> Manifest:
    key, *rest = path
    return {**values, key: _laid(values[key], rest, value) if rest else value}
