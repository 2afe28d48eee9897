"""Problems with their positions, and the error with all problems of a spec."""

from collections.abc import Iterable
from dataclasses import dataclass

from mlcluster.errors import MlclusterError
from mlcluster.spec.document import Document, Problem
from mlcluster.spec.masking import masked

_AROUND = 200


@dataclass(frozen=True, slots=True)
class LocatedProblem:
    """A problem with its position.

    Attributes:
        file: the name of the file as the user wrote it; "<stdin>" for standard input.
        line: the line, from 1; None if the file is not text.
        column: the column in characters, from 1; None if the file is not text.
        path: the path of the value: `nodePools[1] (train).maxSize`; "" for the whole file.
        source: the line with secrets masked; for more than 400 characters, the part around `column`; "" without a line.
        message: the problem.
        hint: the instruction to solve it, or "".
        caret: the column within `source`.
    """

    file: str
    line: int | None
    column: int | None
    path: str
    source: str
    message: str
    hint: str
    caret: int = 1

    @property
    def place(self) -> str:
        """Return `file:line:column`, or the file without a known line."""
        return self.file if self.line is None else f"{self.file}:{self.line}:{self.column}"


class SpecInvalidError(MlclusterError):
    """The spec is invalid. The error contains its problems in the order of the file.

    Args:
        file: the name of the spec file.
        problems: the problems, at least one.
        waiting: the file or some fields are invalid, so the cross-field checks that need them did not run.
        more: the number of further problems.
    """

    def __init__(self, file: str, problems: Iterable[LocatedProblem], *, waiting: bool = False, more: int = 0) -> None:
        self.file = file
        self.more = more
        self.problems = tuple(sorted(problems, key=lambda found: (found.line or 0, found.column or 0)))
        self.waiting = waiting
        first = self.problems[0]
        happened = f"{first.path}: {first.message}" if first.path else first.message
        count = len(self.problems) + more
        if count > 1:
            happened = f"{count} problems, the first one: {happened}"
        super().__init__(f"reading {file}", happened, first.hint)


def located(document: Document, problem: Problem) -> LocatedProblem:
    """Return the problem with its line, column, path and source line."""
    place = problem.at or document.position(problem.loc, key=problem.key)
    line = document.lines[place.line - 1] if place.line <= len(document.lines) else ""
    source, caret = _excerpt(line, place.column)
    return LocatedProblem(
        file=document.path,
        line=place.line,
        column=place.column,
        path=printable(document.spell(problem.loc)),
        source=source,
        message=printable(problem.message),
        hint=printable(problem.hint),
        caret=caret,
    )


def unreadable(file: str, problem: Problem, text: str) -> SpecInvalidError:
    """Return the error for a file that is not a single YAML document; `text` is "" if the file is not text."""
    line, column = problem.at or (None, None)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    known = line is not None and line <= len(lines) and text
    source, caret = _excerpt(lines[(line or 1) - 1], column or 1) if known else ("", 1)
    message, hint = printable(problem.message), printable(problem.hint)
    found = LocatedProblem(file, line, column, "", source, message, hint, caret)
    return SpecInvalidError(file, [found], waiting=True)


def printable(text: str) -> str:
    """Return the text with escapes for unprintable characters, so that a spec cannot control the terminal."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


def _excerpt(line: str, column: int) -> tuple[str, int]:
    """Return the line for display, shortened if it is very long, and the column within it."""
    start = max(0, column - 1 - _AROUND) if len(line) > 2 * _AROUND else 0
    return _same_width(masked(line)[start : start + 2 * _AROUND]), column - start


def _same_width(line: str) -> str:
    """Return a source line with ? for unprintable characters, so that its columns stay the same."""
    return "".join(one if one.isprintable() or one == "\t" else "?" for one in line)
