"""Archives of charts for tests: ../shared/reference/chart-archives, and .charts, which `make charts` fills."""

from functools import cache
from pathlib import Path

import pytest

from mlcluster.charts.archives import Archive, archives

ROOT = Path(__file__).parents[2]
PULLED = ROOT / ".charts"
PLACES = (ROOT.parent / "shared" / "reference" / "chart-archives", PULLED)


@cache
def at_hand() -> tuple[Archive, ...]:
    """Return every archive on this machine, those in .charts first."""
    return tuple(one for place in reversed(PLACES) for one in archives(place))


ABSENT = "Expected without ../shared/reference/chart-archives or .charts: run `make charts` to pull them with helm"
needs_archives = pytest.mark.skipif(not at_hand(), reason=ABSENT)
"""For a test that reads archives of charts. If there are any, the archive of a pinned chart must be among them."""
