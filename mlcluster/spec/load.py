"""From a file to a checked spec: read, decode, YAML, shape, checks across fields. All problems come at once.

Where the shape is wrong, the checks across fields run over what is right (`spec.partial`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from mlcluster.spec.checks import check
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Document, Loc, Problem
from mlcluster.spec.problems import LocatedProblem, SpecInvalidError, located, unreadable
from mlcluster.spec.source import STDIN, STDIN_NAME, decode, read
from mlcluster.spec.yaml_reader import UnreadableError, read_yaml

MAX_PROBLEMS = 500


@dataclass(frozen=True, slots=True)
class Loaded:
    """A valid spec, and the document that knows where each part of it stands."""

    spec: ClusterSpec
    document: Document


def load(path: Path | str) -> Loaded:
    """The spec in a file, or on standard input for "-".

    Raises:
        SpecInvalidError: with every problem of it.
    """
    name = STDIN_NAME if str(path) == STDIN else str(path)
    try:
        content = read(path)
    except UnreadableError as error:
        raise unreadable(name, error.problem, "") from error.__cause__
    return parse(content, name)


def parse(content: bytes, name: str) -> Loaded:
    """The spec in `content`; `name` stands for the file in messages.

    Raises:
        SpecInvalidError: with every problem of it.
    """
    document = _document(content, name)
    try:
        spec = ClusterSpec.model_validate(document.data)
    except ValidationError as error:
        from mlcluster.spec.wording import shape_problems

        errors = error.errors(include_url=False)
        problems = [*document.problems, *shape_problems(document, errors[:MAX_PROBLEMS])]
        raise _invalid_shape(document, problems, more=len(errors[MAX_PROBLEMS:])) from None
    if document.problems:  # values that could not be read; the shape took stand-ins for them
        raise _invalid_shape(document, document.problems)
    found = check(spec)
    if found:
        raise _invalid(document, found)
    return Loaded(spec, document)


def locate(document: Document, loc: Loc) -> str:
    """`file:line:column` of the value at `loc`, or of what holds it where it is absent."""
    return located(document, Problem(loc, "")).place


def locate_problem(document: Document, problem: Problem) -> LocatedProblem:
    """A finding's place in the form that problems are printed in."""
    return located(document, problem)


def _document(content: bytes, name: str) -> Document:
    text = ""
    try:
        text = decode(content)
        return read_yaml(text, name)
    except UnreadableError as error:
        raise unreadable(name, error.problem, text or content.decode("utf-8", "replace")) from None


def _invalid_shape(document: Document, problems: Sequence[Problem], *, more: int = 0) -> SpecInvalidError:
    """The error with these problems, and with those across fields that hold however these are corrected."""
    from mlcluster.spec.partial import partial_spec

    found = check(partial_spec(document))
    told = {(problem.loc, problem.message) for problem in problems}
    across = [problem for problem in found if (problem.loc, problem.message) not in told]
    return _invalid(document, [*problems, *across], waiting=True, more=more)


def _invalid(
    document: Document, problems: Sequence[Problem], *, waiting: bool = False, more: int = 0
) -> SpecInvalidError:
    """The error with the first problems in the order of the file; a generated file may have any number."""
    ordered = sorted(problems, key=lambda problem: problem.at or document.position(problem.loc, key=problem.key))
    shown = [located(document, problem) for problem in ordered[:MAX_PROBLEMS]]
    return SpecInvalidError(document.path, shown, waiting=waiting, more=more + len(ordered[MAX_PROBLEMS:]))
