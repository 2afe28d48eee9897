"""The result of a check, and a runner of checks with a time limit for each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from queue import Empty, SimpleQueue
from threading import Thread

from mlcluster.errors import MlclusterError
from mlcluster.progress import Progress


class State(StrEnum):
    """The result of a check."""

    OK = "ok"
    NOT_NEEDED = "notNeeded"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Check:
    """One line of a report.

    Attributes:
        name: the subject of the check, e.g. "plugin aws".
        state: fine, missing but not needed so far, a warning, or a problem.
        found: the observed facts, with names and numbers.
        fix: the hint; "" if no action is needed.
    """

    name: str
    state: State
    found: str
    fix: str = ""


def ok(name: str, found: str) -> Check:
    """Return a check without a problem."""
    return Check(name, State.OK, found)


def not_needed(name: str, found: str) -> Check:
    """Return a check of a missing requirement that only some specs have."""
    return Check(name, State.NOT_NEEDED, found)


def warning(name: str, found: str, fix: str) -> Check:
    """Return a check whose problem does not stop `up`."""
    return Check(name, State.WARNING, found, fix)


def problem(name: str, found: str, fix: str) -> Check:
    """Return a check whose problem stops `up`."""
    return Check(name, State.PROBLEM, found, fix)


@dataclass(frozen=True, slots=True)
class Question:
    """A group of checks that run together.

    Attributes:
        name: their subject, for progress, and for the one check that is reported if the group does not finish.
        answer: runs the checks; its MlclusterError or OSError becomes a problem.
        seconds: the time limit.
    """

    name: str
    answer: Callable[[], Sequence[Check]]
    seconds: float = 30.0


def run(questions: Sequence[Question], progress: Progress) -> tuple[list[Check], bool]:
    """Run every group of checks; a group that exceeds its time limit is reported as a problem.

    Returns:
        The checks in the order of the groups, and whether a group exceeded its limit; its thread may still wait.
    """
    checks: list[Check] = []
    given_up = False
    with progress.task("checking") as task:
        for number, question in enumerate(questions):
            task.update(question.name, done=number, total=len(questions))
            found = _answered(question)
            given_up = given_up or found is None
            checks += found if found is not None else [_silent(question)]
    return checks, given_up


def _silent(question: Question) -> Check:
    fix = "Check mounts, proxies, and credential helpers that open a browser: one of them may not respond."
    return problem(question.name, f"no answer within {question.seconds:g} s", fix)


def _refused(question: Question, error: OSError) -> Check:
    place = error.filename or "that file or directory"
    return problem(question.name, str(error), f"Check that {place} exists and that you can read it.")


def _answered(question: Question) -> Sequence[Check] | None:
    """Return the checks of one group; None if it takes too long. An unexpected exception is raised here."""
    answers: SimpleQueue[Sequence[Check] | Exception] = SimpleQueue()

    def look() -> None:
        try:
            answers.put(question.answer())
        except MlclusterError as error:
            answers.put([problem(question.name, error.happened, error.hint)])
        except OSError as error:
            answers.put([_refused(question, error)])
        except Exception as error:  # noqa: BLE001 -- raised again in the caller's thread
            answers.put(error)

    Thread(target=look, name=f"check {question.name}", daemon=True).start()
    try:
        found = answers.get(timeout=question.seconds)
    except Empty:
        return None
    if isinstance(found, Exception):
        raise found
    return found
