"""Engine operations under signal handlers, and conversion of their end into a result or an error."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from mlcluster.engine.events import Fold, OnEvent
from mlcluster.engine.failures import CHECKPOINT_RACE, Failed, explain
from mlcluster.engine.program import TidyProgram
from mlcluster.engine.signals import Interruption, Stoppable
from mlcluster.errors import InterruptedByUserError, MlclusterError

Take = Callable[[Any], None]
Call = Callable[[Any, Take], object]
"""A function that runs an operation on the SDK's stack and passes every engine event to its second argument."""

LAST_EVENTS_SECONDS = 5.0
"""How long to wait for the last events after the engine has ended; its final event is `cancel`."""


class Ended(Protocol):
    """The result of a process."""

    @property
    def code(self) -> int: ...
    @property
    def stderr(self) -> str: ...


class Process(Stoppable, Protocol):
    """The engine's process; `command.EngineCommand` implements it."""

    stopped: bool
    quick: bool

    @property
    def last(self) -> Ended | None: ...


@dataclass(frozen=True, slots=True)
class Operation:
    """The description of an operation.

    Attributes:
        doing: the activity as a phrase, for errors.
        call: runs the operation.
        spec: the spec file, for the commands in hints.
        on_event: receives events from another thread; its exception is raised after the operation has ended.
        reads: whether the operation changes nothing, such as a preview or drift detection.
    """

    doing: str
    call: Call
    spec: str
    on_event: OnEvent | None = None
    reads: bool = False


def run(stack: Any, what: Operation, *, say: Callable[[str], object], repair: Callable[[], object]) -> Fold:
    """Run one operation to its end, and repeat it once if the state was partially written.

    Args:
        stack: the SDK's stack; its program is a TidyProgram, its command an EngineCommand.
        what: the operation.
        say: receives a message at every interruption.
        mend: called before the second attempt.

    Raises:
        InterruptedByUserError: Ctrl-C, SIGTERM or SIGHUP came.
        MlclusterError: the engine failed.
    """
    process: Process = stack.workspace.pulumi_command
    fold, failed = _guarded(stack, what, say)
    if failed is not None and read_half_written(process):
        repair()
        fold, failed = _guarded(stack, what, say)
    if fold.error is not None:
        raise fold.error
    if failed is not None:
        raise failed
    return fold


def read_half_written(process: Process) -> bool:
    """Return whether the last command failed because the state was being written or was truncated."""
    return process.last is not None and CHECKPOINT_RACE in process.last.stderr


def _guarded(stack: Any, what: Operation, say: Callable[[str], object]) -> tuple[Fold, MlclusterError | None]:
    from mlcluster.engine.private_servers import private_servers

    process: Process = stack.workspace.pulumi_command
    process.stopped = False
    fold = Fold(what.on_event)
    with private_servers(), Interruption(_Whole(process, stack.workspace.program), say) as interruption:
        failed = _attempt(stack, what, fold)
    if interruption.happened:
        raise _interrupted(what, fold, failed) from failed
    return fold, failed


@dataclass(frozen=True, slots=True)
class _Whole:
    """The engine and the program, which can wait for a resource: an interruption ends both."""

    process: Stoppable
    program: TidyProgram

    def interrupt(self) -> None:
        self.process.interrupt()
        self.program.stop()

    def kill(self) -> None:
        self.process.kill()
        self.program.stop()


@contextmanager
def explained(spec: str, doing: str, process: Process | None, fold: Fold | None = None) -> Iterator[None]:
    """Convert exceptions of the SDK into MlclusterError, with the original exception as the cause."""
    from pulumi.automation import CommandError, InvalidVersionError

    try:
        yield
    except CommandError as error:
        code, stderr = (process.last.code, process.last.stderr) if process and process.last else (1, str(error))
        resources = fold.failures if fold else ()
        program_error, errors = (fold.program_error, fold.errors) if fold else ("", [])
        raise explain(doing, Failed(spec, code, stderr, resources, program_error, errors)) from error
    except InvalidVersionError as error:
        hint = "Run `mlcluster doctor`; it shows the supported versions."
        raise MlclusterError(doing, f"this Pulumi engine is not supported: {error}", hint) from error
    except RuntimeError as error:
        if "summary event" not in str(error):
            raise
        happened = "the engine ended without a summary of its changes"
        raise MlclusterError(doing, happened, "Run the same command again.") from error


def _attempt(stack: Any, what: Operation, fold: Fold) -> MlclusterError | None:
    process: Process = stack.workspace.pulumi_command
    process.quick = True
    # The event stream of a killed engine ends early. The exit code already shows how it ended.
    warnings.filterwarnings("ignore", message="Error in event stream", category=UserWarning)
    try:
        with explained(what.spec, what.doing, process, fold):
            try:
                what.call(stack, fold.take)
            finally:
                if fold.seen:
                    fold.ended.wait(LAST_EVENTS_SECONDS)
                stack.workspace.program.tidy()
    except MlclusterError as error:
        return stack.workspace.program.failure if not fold.failures and stack.workspace.program.failure else error
    finally:
        process.quick = False
    return None


class OperationInterruptedError(InterruptedByUserError):
    """Ctrl-C, SIGTERM or SIGHUP during an operation.

    Attributes:
        finished: the number of completed changes; 0 for an operation that only reads.
    """

    def __init__(self, doing: str, finished: int, notes: Sequence[str], hint: str) -> None:
        count = f"interrupted after {finished} finished change{'' if finished == 1 else 's'}"
        super().__init__(doing, "; ".join([count, *notes]), hint)
        self.finished = finished
        self.notes = tuple(notes)

    def after(self, earlier: int) -> "OperationInterruptedError":
        """Return the interruption of a run that completed `earlier` changes before this operation."""
        return OperationInterruptedError(self.doing, earlier + self.finished, self.notes, self.hint)


def _interrupted(what: Operation, fold: Fold, failed: MlclusterError | None) -> InterruptedByUserError:
    if what.reads:
        return InterruptedByUserError(what.doing, "interrupted; nothing was changed", "Run the same command again.")
    notes = []
    open_ends = [] if failed is None else fold.unfinished()
    if isinstance(failed, InterruptedByUserError):  # the program was waiting for a resource
        notes.append(f"{failed.doing}: {failed.happened}")
    if open_ends:
        notes.append(f"not finished: {', '.join(open_ends[:10])}{' and more' if len(open_ends) > 10 else ''}")
    again = "Run the same command again: it continues from here."
    hint = again if failed is None else f"{again} If the engine was killed, `mlcluster unlock {what.spec}`."
    return OperationInterruptedError(what.doing, fold.finished, notes, hint)
