"""Event loops that the SDK leaves open are closed, with all remaining tasks."""

import asyncio

import pytest

from mlcluster.deploy.session.platform_program import PlatformProgram
from mlcluster.engine.program import TidyProgram
from mlcluster.errors import MlclusterError
from mlcluster.kube.gates import Gates
from tests.fakes.api_server import FakeApiServer

pytestmark = pytest.mark.unit


def _ran(program: TidyProgram) -> tuple[asyncio.AbstractEventLoop, "asyncio.Task[None]"]:
    """Return a loop that ran the program and was stopped while a task was waiting, and the task."""
    loop = asyncio.new_event_loop()

    async def run() -> None:
        program()

    loop.run_until_complete(run())
    return loop, loop.create_task(asyncio.sleep(3600))


def test_waiting_tasks_are_cancelled() -> None:
    program = TidyProgram(lambda: None)
    loop, waiting = _ran(program)
    program.tidy()
    assert loop.is_closed()
    assert waiting.cancelled()


def test_a_loop_without_tasks_is_closed() -> None:
    program = TidyProgram(lambda: None)
    loop, waiting = _ran(program)
    waiting.cancel()
    loop.run_until_complete(asyncio.wait([waiting]))
    program.tidy()
    assert loop.is_closed()


def test_a_closed_loop_stays_closed() -> None:
    program = TidyProgram(lambda: None)
    loop, waiting = _ran(program)
    waiting.cancel()
    loop.run_until_complete(asyncio.wait([waiting]))
    loop.close()
    program.tidy()
    assert loop.is_closed()


class Waiting:
    """A program that waits for a resource."""

    def __init__(self) -> None:
        self.failure: MlclusterError | None = None
        self.stops = 0

    def __call__(self) -> None: ...

    def stop(self) -> None:
        self.stops += 1


def test_the_wait_of_a_program_is_stopped_and_its_error_kept() -> None:
    waiting = Waiting()
    program = TidyProgram(waiting)
    assert program.failure is None
    program.stop()
    program.tidy()
    assert waiting.stops == 2
    waiting.failure = MlclusterError("waiting for kueue", "it does not answer")
    assert program.failure is waiting.failure


def test_a_plain_function_has_no_wait_to_stop() -> None:
    program = TidyProgram(lambda: None)
    program.stop()
    assert program.failure is None


def test_each_run_of_a_platform_program_has_its_own_gates() -> None:
    server, seen = FakeApiServer(), list[Gates]()
    program = PlatformProgram(seen.append, lambda: Gates(server.kube(), [], print))
    program.stop()
    assert program.failure is None
    program()
    program()
    assert len(set(map(id, seen))) == 2
    seen[1].failure = MlclusterError("waiting for kueue", "it does not answer")
    assert TidyProgram(program).failure is seen[1].failure
