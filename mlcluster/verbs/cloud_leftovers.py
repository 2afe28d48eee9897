"""The search at the end of `down` on `eks`: what of the cluster is still in the account, and what it costs."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from mlcluster.report.screen import Screen
from mlcluster.verbs.reading import Reading


@dataclass(frozen=True, slots=True)
class Search:
    """What was found.

    Attributes:
        left: how many things are left that nobody keeps on purpose.
        text: for people: "nothing left", or each thing with the command that removes it.
        document: the same as data.
    """

    left: int
    text: str
    document: dict[str, Any] = field(default_factory=dict)


def search(reading: Reading, vpc_id: str | None, kept: Collection[str], screen: Screen) -> Search:
    """Asks the account; without credentials nobody is asked, and that is said."""
    raise NotImplementedError
