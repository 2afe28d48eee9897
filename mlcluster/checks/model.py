"""The result of a check, and a runner of checks with a time limit for each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from queue import Empty, SimpleQueue
from threading import Thread

from mlcluster.errors import MlclusterError
from mlcluster.progress import Progress


class State(StrEnum):
    """How a check ended."""

    OK = "ok"
    NOT_NEEDED = "notNeeded"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Check:
    """One line of a report.

    Attributes:
        name: what was looked at, e.g. "plugin aws".
        state: fine, missing but not needed so far, worth knowing, or in the way.
        found: what is there, with names and numbers.
        fix: what to do; "" when nothing is to be done.
    """

    name: str
    state: State
    found: str
    fix: str = ""


def ok(name: str, found: str) -> Check:
    """Return a check that found nothing wrong."""
    return Check(name, State.OK, found)


def not_needed(name: str, found: str) -> Check:
    """Return a check that found something missing that only some specs need."""
    return Check(name, State.NOT_NEEDED, found)


def warning(name: str, found: str, fix: str) -> Check:
    """Return a check that found something that stops nothing."""
    return Check(name, State.WARNING, found, fix)


def problem(name: str, found: str, fix: str) -> Check:
    """Return a check that found something that stops `up`."""
    return Check(name, State.PROBLEM, found, fix)


@dataclass(frozen=True, slots=True)
class Question:
    """A few checks that belong together.

    Attributes:
        name: what is looked at, for progress, and for the check that stands for all when there is no answer.
        answer: looks; an MlclusterError or OSError of it becomes a problem.
        seconds: how long it may take.
    """

    name: str
    answer: Callable[[], Sequence[Check]]
    seconds: float = 30.0


def run(questions: Sequence[Question], progress: Progress) -> tuple[list[Check], bool]:
    """Ask every question; one that does not answer in time is given up and reported.

    Returns:
        The checks in the order of the questions, and whether a question was given up: its thread may still wait.
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
    fix = "Find out what it waits for: a mount, a proxy, or a credential helper that asks in a browser."
    return problem(question.name, f"no answer within {question.seconds:g} s", fix)


def _refused(question: Question, error: OSError) -> Check:
    place = error.filename or "that file or directory"
    return problem(question.name, str(error), f"Check that {place} exists and that you may read it.")


def _answered(question: Question) -> Sequence[Check] | None:
    """The checks of one question; None when it takes too long. A bug in it is raised here."""
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
