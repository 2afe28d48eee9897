"""Problems with their places looked up, and the error that carries all of them at once."""

from collections.abc import Iterable
from dataclasses import dataclass

from mlcluster.errors import MlclusterError
from mlcluster.spec.document import Document, Problem
from mlcluster.spec.masking import masked


@dataclass(frozen=True, slots=True)
class LocatedProblem:
    """One problem as a reader sees it.

    Attributes:
        file: as the user gave it; "<stdin>" for standard input.
        line, column: from 1, columns in characters; None when the file could not be read as text.
        path: `nodePools[1] (train).maxSize`; "" for the file as a whole.
        source: the line, secrets masked; "" without a line.
    """

    file: str
    line: int | None
    column: int | None
    path: str
    source: str
    message: str
    hint: str

    @property
    def place(self) -> str:
        """`file:line:column`, as far as known."""
        return self.file if self.line is None else f"{self.file}:{self.line}:{self.column}"


class SpecInvalidError(MlclusterError):
    """The spec cannot be used; carries every problem that was found, in the order of the file.

    Args:
        file: the spec's name.
        problems: at least one.
        waiting: the checks across fields did not run because the file or fields themselves are wrong.
    """

    def __init__(self, file: str, problems: Iterable[LocatedProblem], *, waiting: bool = False) -> None:
        self.file = file
        self.problems = tuple(sorted(problems, key=lambda found: (found.line or 0, found.column or 0)))
        self.waiting = waiting
        first = self.problems[0]
        happened = f"{first.path}: {first.message}" if first.path else first.message
        if len(self.problems) > 1:
            happened = f"{len(self.problems)} problems; the first: {happened}"
        super().__init__(f"reading {file}", happened, first.hint)


def located(document: Document, problem: Problem) -> LocatedProblem:
    """The problem with its line, column, path and source line."""
    place = problem.at or document.position(problem.loc, key=problem.key)
    source = document.lines[place.line - 1] if place.line <= len(document.lines) else ""
    return LocatedProblem(
        file=document.path,
        line=place.line,
        column=place.column,
        path=_printable(document.spell(problem.loc)),
        source=_same_width(masked(source)),
        message=_printable(problem.message),
        hint=_printable(problem.hint),
    )


def unreadable(file: str, problem: Problem, text: str) -> SpecInvalidError:
    """The error for a file that is not one YAML document; `text` is "" when not even that is known."""
    line, column = problem.at or (None, None)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    source = _same_width(masked(lines[line - 1])) if line and line <= len(lines) and text else ""
    found = LocatedProblem(file, line, column, "", source, _printable(problem.message), _printable(problem.hint))
    return SpecInvalidError(file, [found], waiting=True)


def _printable(text: str) -> str:
    """What a spec says cannot steer a terminal: characters that do not print stand as escapes."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


def _same_width(line: str) -> str:
    """The same for a source line, whose columns must stay."""
    return "".join(one if one.isprintable() or one == "\t" else "?" for one in line)
