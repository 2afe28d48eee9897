"""Problems with their places looked up, and the error that carries all of them at once."""

from collections.abc import Iterable
from dataclasses import dataclass

from mlcluster.errors import MlclusterError
from mlcluster.spec.document import Document, Problem
from mlcluster.spec.masking import masked

_AROUND = 200


@dataclass(frozen=True, slots=True)
class LocatedProblem:
    """One problem as a reader sees it.

    Attributes:
        file: as the user gave it; "<stdin>" for standard input.
        line, column: from 1, columns in characters; None when the file could not be read as text.
        path: `nodePools[1] (train).maxSize`; "" for the file as a whole.
        source: the line, secrets masked; of a line beyond 400 characters the part around `column`; "" without a line.
        caret: `column` counted within `source`.
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
        """`file:line:column`, as far as known."""
        return self.file if self.line is None else f"{self.file}:{self.line}:{self.column}"


class SpecInvalidError(MlclusterError):
    """The spec cannot be used; carries every problem that was found, in the order of the file.

    Args:
        file: the spec's name.
        problems: at least one.
        waiting: the file or fields themselves are wrong; checks across fields that need them did not run.
        more: how many problems there are beyond these.
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
            happened = f"{count} problems; the first: {happened}"
        super().__init__(f"reading {file}", happened, first.hint)


def located(document: Document, problem: Problem) -> LocatedProblem:
    """The problem with its line, column, path and source line."""
    place = problem.at or document.position(problem.loc, key=problem.key)
    line = document.lines[place.line - 1] if place.line <= len(document.lines) else ""
    source, caret = _excerpt(line, place.column)
    return LocatedProblem(
        file=document.path,
        line=place.line,
        column=place.column,
        path=_printable(document.spell(problem.loc)),
        source=source,
        message=_printable(problem.message),
        hint=_printable(problem.hint),
        caret=caret,
    )


def unreadable(file: str, problem: Problem, text: str) -> SpecInvalidError:
    """The error for a file that is not one YAML document; `text` is "" when not even that is known."""
    line, column = problem.at or (None, None)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    known = line is not None and line <= len(lines) and text
    source, caret = _excerpt(lines[(line or 1) - 1], column or 1) if known else ("", 1)
    message, hint = _printable(problem.message), _printable(problem.hint)
    found = LocatedProblem(file, line, column, "", source, message, hint, caret)
    return SpecInvalidError(file, [found], waiting=True)


def _printable(text: str) -> str:
    """What a spec says cannot steer a terminal: characters that do not print stand as escapes."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


def _excerpt(line: str, column: int) -> tuple[str, int]:
    """The line as it is shown, cut when it is very long, and where `column` is in it."""
    start = max(0, column - 1 - _AROUND) if len(line) > 2 * _AROUND else 0
    return _same_width(masked(line)[start : start + 2 * _AROUND]), column - start


def _same_width(line: str) -> str:
    """The same for a source line, whose columns must stay."""
    return "".join(one if one.isprintable() or one == "\t" else "?" for one in line)
