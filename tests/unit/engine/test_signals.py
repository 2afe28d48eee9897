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
    """Notes what it is asked."""

    asked: list[str] = field(default_factory=list)

    def interrupt(self) -> None:
        self.asked.append("interrupt")

    def kill(self) -> None:
        self.asked.append("kill")


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_asks_the_engine_to_end_and_raises_nothing(number: signal.Signals) -> None:
    engine, told = FakeEngine(), list[str]()
    with Interruption(engine, told.append) as interruption:
        os.kill(os.getpid(), number)
        assert interruption.happened
    assert engine.asked == ["interrupt"]
    assert told == [FIRST]


def test_the_second_is_harder_and_the_third_kills() -> None:
    engine, told = FakeEngine(), list[str]()
    with Interruption(engine, told.append) as interruption:
        for _ in range(4):
            os.kill(os.getpid(), signal.SIGINT)
    assert engine.asked == ["interrupt", "interrupt", "kill", "kill"]
    assert told == [FIRST, SECOND, THIRD, THIRD]
    assert interruption.count == 4


def test_the_old_handlers_come_back_even_after_an_error() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]

    def work() -> None:
        with Interruption(FakeEngine(), print):
            assert [signal.getsignal(number) for number in SIGNALS] != before
            raise LookupError

    with pytest.raises(LookupError):
        work()
    assert [signal.getsignal(number) for number in SIGNALS] == before


def test_a_terminal_that_is_gone_does_not_matter() -> None:
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
