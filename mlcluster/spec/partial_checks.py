"""Execution of checks on a partial spec."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from mlcluster.spec.base import UnknownValueError
from mlcluster.spec.document import Problem

P = ParamSpec("P")
Item = TypeVar("Item")


def stop_at_unknown_value(check: Callable[P, Iterable[Problem]]) -> Callable[P, Iterator[Problem]]:
    """Return a check that ends at the first unknown value and keeps the problems that it found before.

    Use it only if the absence of a problem has no meaning for the caller.
    """

    @wraps(check)
    def run(*args: P.args, **kwargs: P.kwargs) -> Iterator[Problem]:
        with suppress(UnknownValueError):
            yield from check(*args, **kwargs)

    return run


def known_values(items: Iterable[Item], read: Callable[[Item], Any]) -> Iterator[tuple[int, Any]]:
    """Yield the index and the value of each item with a known value."""
    for index, item in enumerate(items):
        with suppress(UnknownValueError):
            yield index, read(item)
