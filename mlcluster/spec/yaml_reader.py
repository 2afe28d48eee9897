"""Reader of YAML 1.2 text into a Document: plain data, with a position for every value.

libyaml parses the text into events through PyYAML, which is 20 times faster than a pure Python parser on a spec of
3,000 lines (docs/decisions). This module and `scalars` implement the differences between YAML 1.1 and 1.2: the types of
plain scalars, unique string keys, and no tags.
"""

from collections.abc import Iterator
from typing import Any

import yaml

from mlcluster.spec.document import Document, Loc, Node, Position, Problem
from mlcluster.spec.scalars import NumberError, resolve
from mlcluster.spec.yaml_syntax import syntax_problem

MAX_DEPTH = 40
MAX_VALUES = 200_000
_PARSER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class UnreadableError(Exception):
    """The text is not a single valid YAML document."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def read_yaml(text: str, name: str) -> Document:
    """Return the document in `text`.

    Args:
        text: decoded text without control characters; `source.decode` rejects them.
        name: the name of the file in messages.

    Raises:
        UnreadableError: with the position of the error, if it is known.
    """
    lines = tuple(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    reader = _Reader(text)
    try:
        data, root = reader.document()
    except yaml.YAMLError as error:
        raise UnreadableError(syntax_problem(error, lines)) from error
    if not isinstance(data, dict):
        raise UnreadableError(_not_a_mapping(data, root))
    data = {key: value for key, value in data.items() if not key.startswith("x-")}
    return Document(name, lines, data, root, tuple(reader.problems))


def _not_a_mapping(data: Any, root: Node) -> Problem:
    if data is None:
        return Problem((), "the document is empty", "Run `mlcluster init` to create a spec")
    what = "a list" if isinstance(data, list) else "a scalar"
    return Problem((), f"expected a mapping, got {what}", "Begin the spec with `apiVersion` and `kind`", at=root.start)


class _Reader:
    """Builds values from parser events, depth first."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._events: Iterator[Any] = yaml.parse(text, Loader=_PARSER)
        self._anchors: dict[str, tuple[Any, Node, int]] = {}
        self._open: set[str] = set()
        self._values = 0
        self.problems: list[Problem] = []

    def document(self) -> tuple[Any, Node]:
        next(self._events)  # stream start
        if isinstance(next(self._events), yaml.StreamEndEvent):
            what = "contains only comments" if self._text.strip() else "is empty"
            raise UnreadableError(Problem((), f"the file {what}", "Run `mlcluster init` to create a spec"))
        value, node = self._value(next(self._events), ())
        next(self._events)  # document end
        after = next(self._events)
        if not isinstance(after, yaml.StreamEndEvent):
            message = "expected a single YAML document; a second one begins here"
            raise UnreadableError(Problem((), message, "Write each cluster to its own file", at=_at(after)))
        return value, node

    def _value(self, event: Any, loc: Loc, key: Position | None = None) -> tuple[Any, Node]:
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        anchor = event.anchor
        before = self._values
        if anchor:
            self._anchors.pop(anchor, None)
            self._open.add(anchor)
        value, node = self._built(event, loc, key)
        if anchor:
            self._open.discard(anchor)
            self._anchors[anchor] = (value, node, self._values - before)
        return value, node

    def _built(self, event: Any, loc: Loc, key: Position | None) -> tuple[Any, Node]:
        self._count(1, event)
        if event.tag is not None:
            hint = "Remove the tag. Quote the value if it is a string"
            message = f"the YAML tag {_spelled(event.tag)} is not supported"
            self.problems.append(Problem(loc, message, hint, at=_at(event)))
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, loc)
        if len(loc) >= MAX_DEPTH:
            raise UnreadableError(Problem((), f"the nesting exceeds {MAX_DEPTH} levels", at=_at(event)))
        node = Node(key if key and not event.flow_style else _at(event))
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(node, loc), node
        return self._mapping(node, loc), node

    def _count(self, more: int, event: Any) -> None:
        self._values += more
        if self._values > MAX_VALUES:
            message = f"the document has more than {MAX_VALUES:,} values after the expansion of its aliases"
            raise UnreadableError(Problem((), message, "Use fewer nested aliases", at=_at(event)))

    def _scalar(self, event: Any, loc: Loc) -> tuple[Any, Node]:
        node = Node(_at(event), raw=event.value)
        if not event.implicit[0]:
            return event.value, node
        try:
            return resolve(event.value), node
        except NumberError as error:
            self.problems.append(Problem(loc, str(error), at=node.start))
            return 0, node

    def _alias(self, event: Any) -> tuple[Any, Node]:
        if event.anchor in self._open:
            message = f"the alias *{event.anchor} is inside the value of its own anchor"
            raise UnreadableError(Problem((), message, at=_at(event)))
        if event.anchor not in self._anchors:
            hint = f"Define &{event.anchor} above the alias, or quote the value if it is a string"
            message = f"the anchor &{event.anchor} of this alias is not defined above it"
            raise UnreadableError(Problem((), message, hint, at=_at(event)))
        value, node, values = self._anchors[event.anchor]
        self._count(values, event)
        return value, node

    def _sequence(self, node: Node, loc: Loc) -> list[Any]:
        values: list[Any] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            value, node.children[len(values)] = self._value(event, (*loc, len(values)))
            values.append(value)
        return values

    def _mapping(self, node: Node, loc: Loc) -> dict[str, Any]:
        values: dict[str, Any] = {}
        merged: list[tuple[Any, Node]] = []
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self._key(event, loc)
            here = (*loc, key if key is not None else "?")
            value, child = self._value(next(self._events), here, _at(event))
            if key == "<<" and event.implicit[0]:
                merged += self._merge_sources(value, child, here)
            elif key is None:
                continue
            elif key in values:
                message = f'duplicate key "{key[:60]}"; it first appears on line {node.keys[key].line}'
                self.problems.append(Problem(here, message, "Remove one of the two", key=True, at=_at(event)))
            else:
                values[key], node.keys[key], node.children[key] = value, _at(event), child
        for source, source_node in merged:
            _merge(values, node, source, source_node)
        return values

    def _key(self, event: Any, loc: Loc) -> str | None:
        """Return the key; None for an invalid key, after adding its problem and reading a collection to its end."""
        if isinstance(event, yaml.ScalarEvent) and event.tag is None:
            plain = event.implicit[0]
            if not plain or isinstance(_quietly(event.value), str):
                return str(event.value)
            hint = f'Quote it: "{event.value[:60]}"' if event.value else ""
            message = (
                f"expected a string as the key, got {event.value[:60]}"
                if event.value
                else "expected a key before the colon"
            )
            self.problems.append(Problem(loc, message, hint, at=_at(event)))
            return None
        self._value(event, (*loc, "?"))
        self.problems.append(Problem(loc, "expected a string as the key, got a list or a mapping", at=_at(event)))
        return None

    def _merge_sources(self, value: Any, node: Node, loc: Loc) -> list[tuple[Any, Node]]:
        if isinstance(value, dict):
            return [(value, node)]
        if isinstance(value, list) and all(isinstance(item, dict) for item in value):
            return [(item, node.children[index]) for index, item in enumerate(value)]
        self.problems.append(Problem(loc, "expected a mapping or a list of mappings as the value of <<", at=node.start))
        return []


def _merge(values: dict[str, Any], node: Node, source: dict[str, Any], source_node: Node) -> None:
    for key, value in source.items():
        if key not in values:
            values[key] = value
            node.keys[key], node.children[key] = source_node.keys[key], source_node.children[key]


def _spelled(tag: str) -> str:
    return tag.replace("tag:yaml.org,2002:", "!!", 1)[:80]


def _quietly(text: str) -> object:
    try:
        return resolve(text)
    except NumberError:
        return None


def _at(event: Any) -> Position:
    mark = event.start_mark
    return Position(mark.line + 1, mark.column + 1)
