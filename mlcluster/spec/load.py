"""Loading of a spec: reading and decoding the file, YAML parsing, field validation, cross-field checks.

The result contains all problems at once: if fields are invalid, the checks run on the valid fields (`spec.partial`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from mlcluster.spec.checks import check
from mlcluster.spec.cluster import ClusterSpec
from mlcluster.spec.document import Document, Problem
from mlcluster.spec.problems import LocatedProblem, SpecInvalidError, located, unreadable
from mlcluster.spec.source import STDIN, STDIN_NAME, decode, read
from mlcluster.spec.yaml_reader import UnreadableError, read_yaml

MAX_PROBLEMS = 500


@dataclass(frozen=True, slots=True)
class Loaded:
    """A valid spec and its document, which has the position of each value."""

    spec: ClusterSpec
    document: Document


def load(path: Path | str) -> Loaded:
    """Return the spec in a file, or on standard input for "-".

    Raises:
        SpecInvalidError: with every problem of the spec.
    """
    name = STDIN_NAME if str(path) == STDIN else str(path)
    try:
        content = read(path)
    except UnreadableError as error:
        raise unreadable(name, error.problem, "") from error.__cause__
    return parse(content, name)


def parse(content: bytes, name: str) -> Loaded:
    """Return the spec in `content`; messages contain `name` as the name of the file.

    Raises:
        SpecInvalidError: with every problem of the spec.
    """
    document = _document(content, name)
    try:
        spec = ClusterSpec.model_validate(document.data)
    except ValidationError as error:
        from mlcluster.spec.validation_errors import validation_problems

        errors = error.errors(include_url=False)
        problems = [*document.problems, *validation_problems(document, errors[:MAX_PROBLEMS])]
        raise _invalid_shape(document, problems, more=len(errors[MAX_PROBLEMS:])) from None
    if document.problems:  # unreadable values, which the validation has seen as placeholders
        raise _invalid_shape(document, document.problems)
    found = check(spec)
    if found:
        raise _invalid(document, found)
    return Loaded(spec, document)


def locate_problem(document: Document, problem: Problem) -> LocatedProblem:
    """Return a problem of a finding with its position."""
    return located(document, problem)


def _document(content: bytes, name: str) -> Document:
    text = ""
    try:
        text = decode(content)
        return read_yaml(text, name)
    except UnreadableError as error:
        raise unreadable(name, error.problem, text or content.decode("utf-8", "replace")) from None


def _invalid_shape(document: Document, problems: Sequence[Problem], *, more: int = 0) -> SpecInvalidError:
    """Return the error with these problems and those of the cross-field checks on the valid values."""
    from mlcluster.spec.partial import partial_spec

    found = check(partial_spec(document))
    known = {(problem.loc, problem.message) for problem in problems}
    across = [problem for problem in found if (problem.loc, problem.message) not in known]
    return _invalid(document, [*problems, *across], waiting=True, more=more)


def _invalid(
    document: Document, problems: Sequence[Problem], *, waiting: bool = False, more: int = 0
) -> SpecInvalidError:
    """Return the error with the first `MAX_PROBLEMS` problems in the order of the file."""
    ordered = sorted(problems, key=lambda problem: problem.at or document.position(problem.loc, key=problem.key))
    shown = [located(document, problem) for problem in ordered[:MAX_PROBLEMS]]
    return SpecInvalidError(document.path, shown, waiting=waiting, more=more + len(ordered[MAX_PROBLEMS:]))
