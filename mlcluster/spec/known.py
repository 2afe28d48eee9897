"""Checks of a spec that is known in part."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from mlcluster.spec.base import UnknownValueError
from mlcluster.spec.document import Problem

P = ParamSpec("P")
Item = TypeVar("Item")


def as_far_as_known(check: Callable[P, Iterable[Problem]]) -> Callable[P, Iterator[Problem]]:
    """Return `check`, which ends where it reads an unknown value; its problems until then stay.

    Only for checks whose caller concludes nothing from a problem that is not there.
    """

    @wraps(check)
    def run(*args: P.args, **kwargs: P.kwargs) -> Iterator[Problem]:
        with suppress(UnknownValueError):
            yield from check(*args, **kwargs)

    return run


def known_values(items: Iterable[Item], read: Callable[[Item], Any]) -> Iterator[tuple[int, Any]]:
    """Yield the index and the value of each item whose value is known."""
    for index, item in enumerate(items):
        with suppress(UnknownValueError):
            yield index, read(item)
