"""A spec as written: plain data, and for every value of it the line and column where it stands."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

Loc = tuple[str | int, ...]
"""Keys and list indexes from the top: ("nodePools", 1, "maxSize")."""

_NAMING_KEYS = ("name", "id", "key")
_PLAIN_KEY = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


class Position(NamedTuple):
    """A place in the file; both count from 1, columns in characters."""

    line: int
    column: int


@dataclass(slots=True)
class Node:
    """Where one value stands.

    Attributes:
        start: its first character; of a block collection the key that holds it.
        raw: a scalar as written, without quotes; "" for collections.
        keys: of a mapping, where each key stands.
        children: the values of a mapping or list.
    """

    start: Position
    raw: str = ""
    keys: dict[str | int, Position] = field(default_factory=dict)
    children: "dict[str | int, Node]" = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a spec, before its place is looked up.

    Attributes:
        loc: the value it is about.
        key: the key is wrong, not the value.
        at: the place, where `loc` does not lead to it (syntax errors, the second of two equal keys).
    """

    loc: Loc
    message: str
    hint: str = ""
    key: bool = False
    at: Position | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """One YAML document.

    Attributes:
        path: the file's name as the user gave it; "<stdin>" for standard input.
        lines: the text, line by line, without line ends.
        data: plain dicts with string keys, lists, str, int, float, bool, None; top-level `x-` keys are gone.
        root: where everything stands.
        problems: what is wrong already, though the document could be read to its end.
    """

    path: str
    lines: tuple[str, ...]
    data: Any
    root: Node
    problems: tuple[Problem, ...] = ()

    def position(self, loc: Loc, *, key: bool = False) -> Position:
        """Where `loc` stands: its value, or its key; where it is absent, the nearest parent that is there."""
        node, place = self.root, self.root.start
        for depth, part in enumerate(loc, start=1):
            child = node.children.get(part)
            if child is None:
                return place
            place = node.keys.get(part, child.start) if key and depth == len(loc) else child.start
            node = child
        return place

    def node(self, loc: Loc) -> Node | None:
        """The node of `loc`, or None when it is not written."""
        node: Node | None = self.root
        for part in loc:
            node = node.children.get(part) if node else None
        return node

    def raw(self, loc: Loc) -> str:
        """The scalar at `loc` as written, without quotes; "" for collections and what is absent."""
        node = self.node(loc)
        return node.raw if node else ""

    def value(self, loc: Loc) -> Any:
        """The data at `loc`, or None when it is not there."""
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
        """`loc` as people read it, with the names of list items: `nodePools[1] (train).maxSize`."""
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
