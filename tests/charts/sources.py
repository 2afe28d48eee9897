"""Where tests find archives of charts: ../shared/reference/chart-archives, or .charts, which `make charts` fills."""

from functools import cache
from pathlib import Path

from mlcluster.charts.archives import Archive, archives

ROOT = Path(__file__).parents[2]
PULLED = ROOT / ".charts"
PLACES = (ROOT.parent / "shared" / "reference" / "chart-archives", PULLED)
ABSENT = "no chart archives in ../shared/reference/chart-archives or .charts: run `make charts` to pull them with helm"


@cache
def at_hand() -> tuple[Archive, ...]:
    """Return every archive that is on this machine; those in .charts first."""
    return tuple(one for place in reversed(PLACES) for one in archives(place))
