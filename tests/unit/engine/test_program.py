"""Event loops that the SDK leaves behind are closed, whatever is left on them."""

import asyncio

import pytest

from mlcluster.engine.program import TidyProgram

pytestmark = pytest.mark.unit


def _ran(program: TidyProgram) -> tuple[asyncio.AbstractEventLoop, "asyncio.Task[None]"]:
    """A loop that ran the program and was stopped while a task of it was waiting."""
    loop = asyncio.new_event_loop()

    async def run() -> None:
        program()

    loop.run_until_complete(run())
    return loop, loop.create_task(asyncio.sleep(3600))


def test_what_waits_is_cancelled() -> None:
    program = TidyProgram(lambda: None)
    loop, waiting = _ran(program)
    program.tidy()
    assert loop.is_closed()
    assert waiting.cancelled()


def test_a_loop_with_nothing_left_is_closed() -> None:
    program = TidyProgram(lambda: None)
    loop, waiting = _ran(program)
    waiting.cancel()
    loop.run_until_complete(asyncio.wait([waiting]))
    program.tidy()
    assert loop.is_closed()


def test_a_loop_that_the_sdk_closed_stays_so() -> None:
    program = TidyProgram(lambda: None)
    loop, waiting = _ran(program)
    waiting.cancel()
    loop.run_until_complete(asyncio.wait([waiting]))
    loop.close()
    program.tidy()
    assert loop.is_closed()
