"""Paths in nested values: read, replaced, listed, and written with dots."""

from collections.abc import Iterator, Mapping
from typing import Any

from mlcluster.plan.model import Manifest, ValuePath


def value_at(values: Mapping[str, Any], path: ValuePath) -> Any:
    """Return the value at a path; None where the values have none."""
    found: Any = values
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def with_value(values: Manifest, path: ValuePath, value: Any) -> Manifest:
    """Return the values with another value at a path; mappings on the way are made where there are none."""
    key, *rest = path
    return {**values, key: with_value(values.get(key, {}), tuple(rest), value) if rest else value}


def leaf_values(values: Mapping[str, Any], above: ValuePath = ()) -> Iterator[tuple[ValuePath, Any]]:
    """Yield every value that is not itself a mapping with entries, with its path."""
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from leaf_values(value, (*above, key))
        else:
            yield (*above, key), value


def dotted(path: ValuePath) -> str:
    """Return a path in the notation of `helm --set`, for people: operator.logLevel."""
    return ".".join(path)


def catalog_path(text: str) -> ValuePath:
    """Return a path of the catalog, whose keys have no dots."""
    return tuple(text.split("."))
