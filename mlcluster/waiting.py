"""Wait for another program: a loop with a deadline."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True)
class Clock:
    """How time passes; tests give another."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], object] = time.sleep


def wait_while(
    look: Callable[[], _Found],
    seconds: float,
    on_wait: Callable[[_Found], object] = lambda _: None,
    *,
    pause: float = 0.1,
    clock: Clock | None = None,
) -> _Found:
    """Call `look` until it returns something empty, or until `seconds` have passed.

    Args:
        on_wait: receives the result of `look` each time that it is not empty.
        pause: seconds between two calls.

    Returns:
        The last result of `look`: empty, unless the time ran out.
    """
    clock = clock or Clock()
    deadline = clock.now() + seconds
    while found := look():
        on_wait(found)
        if clock.now() > deadline:
            break
        clock.sleep(pause)
    return found
