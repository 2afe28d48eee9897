"""The YAML document of a spec: plain data, with the line and column of every value."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

Loc = tuple[str | int, ...]
"""A path of keys and list indexes from the root: ("nodePools", 1, "maxSize")."""

_NAMING_KEYS = ("name", "id", "key")
_PLAIN_KEY = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


class Position(NamedTuple):
    """A position in the file; line and column begin at 1, and columns count characters."""

    line: int
    column: int


@dataclass(slots=True)
class Node:
    """The positions of a value.

    Attributes:
        start: the first character; of a block collection, its key.
        raw: the text of a scalar without quotes; "" for collections.
        keys: the position of each key of a mapping.
        children: the nodes of the values of a mapping or list.
    """

    start: Position
    raw: str = ""
    keys: dict[str | int, Position] = field(default_factory=dict)
    children: "dict[str | int, Node]" = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem of a spec, before its position is looked up.

    Attributes:
        loc: the path of the value.
        message: the problem.
        hint: the instruction to solve it, or "".
        key: the position is the key, not the value.
        at: the position, if `loc` does not lead to it (syntax errors, duplicate keys).
    """

    loc: Loc
    message: str
    hint: str = ""
    key: bool = False
    at: Position | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A YAML document.

    Attributes:
        path: the name of the file as the user wrote it; "<stdin>" for standard input.
        lines: the lines of the text without line ends.
        data: plain dicts with string keys, lists, str, int, float, bool, None; without the top-level `x-` keys.
        root: the positions of all values.
        problems: the problems that did not stop the reader.
    """

    path: str
    lines: tuple[str, ...]
    data: Any
    root: Node
    problems: tuple[Problem, ...] = ()

    def position(self, loc: Loc, *, key: bool = False) -> Position:
        """Return the position of the value, or the key, at `loc`; of its nearest existing parent if it is absent."""
        node, place = self.root, self.root.start
        for depth, part in enumerate(loc, start=1):
            child = node.children.get(part)
            if child is None:
                return place
            place = node.keys.get(part, child.start) if key and depth == len(loc) else child.start
            node = child
        return place

    def node(self, loc: Loc) -> Node | None:
        """Return the node at `loc`; None if it is absent."""
        node: Node | None = self.root
        for part in loc:
            node = node.children.get(part) if node else None
        return node

    def raw(self, loc: Loc) -> str:
        """Return the text of the scalar at `loc` without quotes; "" for collections and absent values."""
        node = self.node(loc)
        return node.raw if node else ""

    def value(self, loc: Loc) -> Any:
        """Return the data at `loc`; None if it is absent."""
        value = self.data
        for part in loc:
            inside = (isinstance(value, dict) and part in value) or (
                isinstance(value, list) and isinstance(part, int) and part < len(value)
            )
            if not inside:
                return None
            value = value[part]
        return value

    def spell(self, loc: Loc) -> str:
        """Return `loc` as text with the names of list items: `nodePools[1] (train).maxSize`."""
        text = ""
        for depth, part in enumerate(loc, start=1):
            if isinstance(part, int):
                text += f"[{part}]{_named(self.value(loc[:depth]))}"
            elif _PLAIN_KEY.issuperset(part) and part:
                text += f".{part}" if text else part
            else:
                text += f'["{part[:60]}"]'
        return text


def _named(item: Any) -> str:
    if not isinstance(item, dict):
        return ""
    names = (item.get(key) for key in _NAMING_KEYS)
    name = next((name for name in names if isinstance(name, str) and 0 < len(name) <= 60 and name.isprintable()), "")
    return f" ({name})" if name else ""
