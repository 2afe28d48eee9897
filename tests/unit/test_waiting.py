"""The loop with a deadline."""

import pytest

from mlcluster.waiting import Clock, wait_while

pytestmark = pytest.mark.unit


class Watch:
    """A clock that moves only while the loop sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.now, self.sleep)


def test_waiting_ends_with_the_first_empty_result() -> None:
    answers, waited, watch = [["a", "b"], ["b"], []], list[list[str]](), Watch()
    assert wait_while(lambda: answers.pop(0), 60, waited.append, pause=2, clock=watch.clock) == []
    assert (waited, watch.now) == ([["a", "b"], ["b"]], 4)


def test_waiting_returns_the_last_result_after_the_time_limit() -> None:
    watch = Watch()
    assert (
        wait_while(lambda: f"still there at {watch.now:.0f} s", 5, pause=2, clock=watch.clock) == "still there at 6 s"
    )


def test_an_empty_first_result_returns_without_a_pause() -> None:
    watch = Watch()
    assert wait_while(lambda: 0, 5, clock=watch.clock) == 0
    assert watch.now == 0


def test_an_error_of_the_check_ends_the_waiting() -> None:
    def look() -> bool:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        wait_while(look, 5)
