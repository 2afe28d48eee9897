"""Waiting for a condition, with a limit that only a failing test reaches."""

import time
from collections.abc import Callable
from typing import Any

PATIENCE_SECONDS = 180.0
"""An idle machine needs seconds; one that runs other things at the same time can take much longer."""


def wait_for(condition: str, check: Callable[[], Any], pause: float = 0.1) -> Any:
    """Return the first true result of `check`.

    Raises:
        AssertionError: `check` returned no true result in time; the message names the condition.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        found = check()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"not seen within {PATIENCE_SECONDS:.0f} s: {condition}")
        time.sleep(pause)
