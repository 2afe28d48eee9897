"""Problems of a spec as text for a terminal and as data for `-o json`."""

import unicodedata
from typing import Any

from mlcluster.spec.problems import LocatedProblem, SpecInvalidError

WIDTH = 110
_TAB = "    "
_CUT = "..."


def problems_text(error: SpecInvalidError, *, color: bool) -> str:
    """Return every problem with its place, line, caret and hint; the last line counts them. Ends with a line end."""
    blocks = [problem_text(problem, color=color) for problem in error.problems]
    count = len(error.problems)
    closing = f"{count} problem{'' if count == 1 else 's'}" + (f" and {error.more:,} more" if error.more else "")
    if error.waiting and error.problems[-1].line is not None:
        closing += f"; skipped the cross-field checks that need {'this value' if count == 1 else 'these values'}"
    return "\n".join([*blocks, closing]) + "\n"


def problem_text(problem: LocatedProblem, *, color: bool) -> str:
    """One problem: `file:line:column: path: message`, then the source line with a caret, then the hint."""
    about = f"{problem.path}: " if problem.path else ""
    lines = [f"{_paint('1', problem.place, color=color)}: {about}{_paint('31', problem.message, color=color)}"]
    if problem.line is not None and problem.source.strip():
        gutter = f"{problem.line:6} | "
        shown, before = window(problem.source, problem.caret)
        caret = " " * (len(gutter) - 2) + "| " + " " * before + "^"
        lines += [_paint("2", gutter, color=color) + shown, _paint("32", caret, color=color)]
    if problem.hint:
        lines.append(f"         {_paint('36', problem.hint, color=color)}")
    return "\n".join(lines) + "\n"


def problems_json(error: SpecInvalidError) -> dict[str, Any]:
    """Return the same as data: `{apiVersion, kind: SpecProblems, file, problems: [...]}`; unknown places are null."""
    return {
        "apiVersion": "mlcluster/v1alpha1",
        "kind": "SpecProblems",
        "file": error.file,
        "crossChecksRan": not error.waiting,
        "more": error.more,
        "problems": [problem_json(problem) for problem in error.problems],
    }


def problem_json(problem: LocatedProblem) -> dict[str, Any]:
    """One problem as data."""
    return {
        "file": problem.file,
        "line": problem.line,
        "column": problem.column,
        "path": problem.path,
        "message": problem.message,
        "hint": problem.hint,
        "source": problem.source,
        "caret": problem.caret,
    }


def window(source: str, column: int) -> tuple[str, int]:
    """Return the part of a line to show around a column, at most `WIDTH` wide.

    Args:
        source: the line; tabs are shown as four spaces.
        column: from 1, in characters.

    Returns:
        The text, and the number of terminal columns before the character at `column`.
    """
    left, right = (part.replace("\t", _TAB) for part in (source[: column - 1], source[column - 1 :].rstrip()))
    if cells(left) + cells(right) > WIDTH:
        kept = max(WIDTH // 2, WIDTH - cells(right))
        if cells(left) > kept:
            left = _CUT + _last(left, kept - len(_CUT))
        if cells(left) + cells(right) > WIDTH:
            right = _first(right, WIDTH - cells(left) - len(_CUT)) + _CUT
    return left + right, cells(left)


def cells(text: str) -> int:
    """Return how many terminal columns `text` takes: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(_cell(character) for character in text)


def _cell(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


def _first(text: str, width: int) -> str:
    taken = 0
    for index, character in enumerate(text):
        taken += _cell(character)
        if taken > width:
            return text[:index]
    return text


def _last(text: str, width: int) -> str:
    return _first(text[::-1], width)[::-1]


def _paint(code: str, text: str, *, color: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if color else text
