"""Signal handlers against a fake engine."""

import os
import signal
import threading
from dataclasses import dataclass, field

import pytest

from mlcluster.engine.signals import FIRST, SECOND, SIGNALS, THIRD, Interruption

pytestmark = pytest.mark.unit


@dataclass
class FakeEngine:
    """An engine that records its calls."""

    asked: list[str] = field(default_factory=list)

    def interrupt(self) -> None:
        self.asked.append("interrupt")

    def kill(self) -> None:
        self.asked.append("kill")


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_interrupts_the_engine_without_an_exception(number: signal.Signals) -> None:
    engine, told = FakeEngine(), list[str]()
    with Interruption(engine, told.append) as interruption:
        os.kill(os.getpid(), number)
        assert interruption.happened
    assert engine.asked == ["interrupt"]
    assert told == [FIRST]


def test_the_third_signal_kills_the_engine() -> None:
    engine, told = FakeEngine(), list[str]()
    with Interruption(engine, told.append) as interruption:
        for _ in range(4):
            os.kill(os.getpid(), signal.SIGINT)
    assert engine.asked == ["interrupt", "interrupt", "kill", "kill"]
    assert told == [FIRST, SECOND, THIRD, THIRD]
    assert interruption.count == 4


def test_previous_handlers_are_restored_after_an_error() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]

    def work() -> None:
        with Interruption(FakeEngine(), print):
            assert [signal.getsignal(number) for number in SIGNALS] != before
            raise LookupError

    with pytest.raises(LookupError):
        work()
    assert [signal.getsignal(number) for number in SIGNALS] == before


def test_a_broken_terminal_has_no_effect() -> None:
    def broken(text: str) -> None:
        raise BrokenPipeError(text)

    engine = FakeEngine()
    with Interruption(engine, broken):
        os.kill(os.getpid(), signal.SIGTERM)
    assert engine.asked == ["interrupt"]


def test_outside_the_main_thread_nothing_is_installed() -> None:
    seen = []

    def work() -> None:
        with Interruption(FakeEngine(), print) as interruption:
            seen.append((interruption.happened, signal.getsignal(signal.SIGINT)))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(False, before)]
