"""Syntax errors of the YAML parser in words that say what to do."""

from typing import Any

from mlcluster.spec.document import Position, Problem

_ALIGN = "align the keys of one mapping, and the dashes of one list"
_WORDS = {
    "mapping values are not allowed in this context": (
        "a second colon on this line, or wrong indentation",
        "quote a value that holds a colon; align the keys of one mapping",
    ),
    "block sequence entries are not allowed in this context": (
        "a list cannot begin here",
        "put - on a line of its own below the key",
    ),
    "found unknown escape character": (
        "an unknown escape in a double-quoted string",
        "use single quotes, or \\\\ for a backslash",
    ),
    "found unexpected end of stream": ("a quoted string is not closed", "add the closing quote"),
    "did not find expected ',' or ']'": ("the list [ is not closed, or a comma is missing", "write [a, b]"),
    "did not find expected ',' or '}'": ("the mapping { is not closed, or a comma is missing", "write {a: 1, b: 2}"),
    "did not find expected key": ("the indentation does not fit the lines above", _ALIGN),
    "did not find expected '-' indicator": ("the indentation does not fit the lines above", _ALIGN),
    "did not find expected <document start>": ("the indentation does not fit the lines above", _ALIGN),
    "did not find expected alphabetic or numeric character": (
        "* and & begin an alias or an anchor, and here no name follows",
        "quote a value that begins with * or &",
    ),
    "did not find expected node content": ("a value is missing here, or a bracket is not closed", ""),
    "found incompatible YAML document": ("a %YAML directive for a version that is not 1.x", "remove the line"),
}
_RESERVED = "@`%"


def syntax_problem(error: Any, lines: tuple[str, ...]) -> Problem:
    """The problem behind a parser's error.

    Args:
        error: a `yaml.YAMLError`, which in practice has marks.
        lines: the text.
    """
    place = _place(error, len(lines))
    line = lines[place.line - 1]
    indentation = line[: len(line) - len(line.lstrip())]
    if "\t" in indentation:
        at = Position(place.line, indentation.index("\t") + 1)
        return Problem((), "a tab in the indentation; YAML indents with spaces", "replace tabs by spaces", at=at)
    character = line[place.column - 1 : place.column]
    said = str(getattr(error, "problem", error))
    if "cannot start any token" in said and character in _RESERVED:
        return Problem((), f"a value cannot begin with {character}", "quote it", at=place)
    message, hint = _WORDS.get(said, (f"not YAML: {said}", ""))
    return Problem((), message, hint, at=place)


def _place(error: Any, lines: int) -> Position:
    """Where the error is; what is unclosed is shown where it was opened."""
    context, begun, here = (getattr(error, name, None) for name in ("context", "context_mark", "problem_mark"))
    opened = begun is not None and any(word in str(context) for word in ("flow", "quoted"))
    mark = begun if opened else here or begun
    if mark is None:
        return Position(1, 1)
    return Position(min(mark.line + 1, lines), mark.column + 1)
