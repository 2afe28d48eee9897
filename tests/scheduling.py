"""Which tests share a worker: those that share something expensive, the longest groups first.

A conftest.py whose tests start clusters or stacks makes a `Groups` and returns it from `pytest_xdist_make_scheduler`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling


@dataclass(frozen=True)
class Groups:
    """Groups of tests.

    Attributes:
        parts: group -> the beginnings of the node IDs of its tests, below the folder. A test that is in no group
            belongs to the group of its file, or is a group of its own.
        longest_first: names of groups and files in the order of their start. All others start after these.
        by_file: whether tests outside of `parts` are grouped by file; otherwise each is a group.
    """

    parts: Mapping[str, Sequence[str]]
    longest_first: Sequence[str]
    by_file: bool = True

    def group_of(self, nodeid: str) -> str:
        """Return the group of a test."""
        inside = _inside(nodeid)
        for group, beginnings in self.parts.items():
            if inside.startswith(tuple(beginnings)):
                return group
        return inside.partition("::")[0] if self.by_file else inside

    def sort(self, items: list[pytest.Item]) -> None:
        """Sort tests by the start of their group, and within a group by the order of its parts."""
        items.sort(key=lambda item: self._place(item.nodeid))

    def scheduler(self, config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
        """Return the scheduler of the groups; None if the command line selects another distribution."""
        if config.getoption("dist") != "loadfile":
            return None
        config.option.loadscopereorder = False  # the order of `sort` stays
        return _Scheduling(config, log, self.group_of)

    def _place(self, nodeid: str) -> tuple[int, int]:
        group = self.group_of(nodeid)
        rank = self.longest_first.index(group) if group in self.longest_first else len(self.longest_first)
        parts, inside = self.parts.get(group, ()), _inside(nodeid)
        return rank, next((number for number, part in enumerate(parts) if inside.startswith(part)), 0)


def _inside(nodeid: str) -> str:
    """Return the node ID below the folder of its tier."""
    return nodeid.partition("tests/")[2].partition("/")[2]


class _Scheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Hands out whole groups."""

    def __init__(self, config: pytest.Config, log: Producer, group_of: Callable[[str], str]) -> None:
        super().__init__(config, log)
        self._group_of = group_of

    def _split_scope(self, nodeid: str) -> str:
        return self._group_of(nodeid)
