"""Messages and hints for syntax errors of the YAML parser."""

from typing import Any

from mlcluster.spec.document import Position, Problem

_ALIGN = "Align the keys of each mapping and the dashes of each list"
_WORDS = {
    "mapping values are not allowed in this context": (
        "unexpected colon or wrong indentation",
        "Quote a value that contains a colon. Align the keys of each mapping",
    ),
    "block sequence entries are not allowed in this context": (
        "unexpected list item",
        "Begin the list on a new line below the key",
    ),
    "found unknown escape character": (
        "unknown escape sequence in a double-quoted string",
        "Use single quotes, or \\\\ for a backslash",
    ),
    "found unexpected end of stream": ("unclosed quoted string", "Add the closing quote"),
    "did not find expected ',' or ']'": ("unclosed list or missing comma", "Write `[a, b]`"),
    "did not find expected ',' or '}'": ("unclosed mapping or missing comma", "Write `{a: 1, b: 2}`"),
    "did not find expected key": ("the indentation does not match the lines above", _ALIGN),
    "did not find expected '-' indicator": ("the indentation does not match the lines above", _ALIGN),
    "did not find expected <document start>": ("the indentation does not match the lines above", _ALIGN),
    "did not find expected alphabetic or numeric character": (
        "expected the name of an alias or anchor after * or &",
        "Quote a value that begins with * or &",
    ),
    "did not find expected node content": ("missing value or unclosed bracket", ""),
    "found incompatible YAML document": ("unsupported version in the %YAML directive", "Remove the line"),
}
_RESERVED = "@`%"


def syntax_problem(error: Any, lines: tuple[str, ...]) -> Problem:
    """Return the problem for an error of the YAML parser.

    Args:
        error: a `yaml.YAMLError` with marks.
        lines: the lines of the text.
    """
    place = _place(error, len(lines))
    line = lines[place.line - 1]
    indentation = line[: len(line) - len(line.lstrip())]
    if "\t" in indentation:
        at = Position(place.line, indentation.index("\t") + 1)
        return Problem((), "tab in the indentation; YAML allows only spaces", "Replace the tab with spaces", at=at)
    character = line[place.column - 1 : place.column]
    said = str(getattr(error, "problem", error))
    if "cannot start any token" in said and character in _RESERVED:
        return Problem((), f"a plain value cannot begin with {character}", "Quote it", at=place)
    message, hint = _WORDS.get(said, (f"invalid YAML: {said}", ""))
    return Problem((), message, hint, at=place)


def _place(error: Any, lines: int) -> Position:
    """Return the position of the error; of an unclosed collection or string, its beginning."""
    context, begun, here = (getattr(error, name, None) for name in ("context", "context_mark", "problem_mark"))
    opened = begun is not None and any(word in str(context) for word in ("flow", "quoted"))
    mark = begun if opened else here or begun
    if mark is None:
        return Position(1, 1)
    return Position(min(mark.line + 1, lines), mark.column + 1)
