"""The keeper of a lab, with a component that ends repeatedly and with an unreadable record."""

import threading
from pathlib import Path

import psutil
import pytest

from mlcluster.errors import MlclusterError
from mlcluster.lab.keeper import Keeper
from mlcluster.lab.lab import Lab
from mlcluster.progress import Progress, Silent

pytestmark = pytest.mark.unit
ETCD = "etcd"


class RecordedProgress(Silent):
    """Progress that records messages and can wait for one."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.spoke = threading.Event()

    def say(self, text: str) -> None:
        self.said.append(text)
        self.spoke.set()


class CrashingLab(Lab):
    """A lab whose etcd ends after each of its starts.

    Args:
        root: its directory, which stays empty.
        failure: the exception of a repair; None if it succeeds.
    """

    def __init__(self, root: Path, failure: Exception | None = None) -> None:
        super().__init__("demo", root)
        self._failure = failure
        self.looks = 0
        self.repairs = 0

    def alive_and_ended(self) -> tuple[list[str], list[str]]:
        self.looks += 1
        return ([ETCD], []) if self.looks == 1 else ([], [ETCD])

    def repair(self, progress: Progress) -> list[str]:
        del progress
        self.repairs += 1
        if self._failure is not None:
            raise self._failure
        return [ETCD]


class UnreadableLab(CrashingLab):
    """A lab whose record cannot be read after the first check."""

    def alive_and_ended(self) -> tuple[list[str], list[str]]:
        if self.looks:
            raise PermissionError(13, "Permission denied", "/labs/demo/record")
        return super().alive_and_ended()


def _account(lab: Lab) -> tuple[str, list[str]]:
    """Return the keeper's report after it has given up, and its messages."""
    progress = RecordedProgress()
    with Keeper(lab, progress, pause=0.01) as keeper:
        assert progress.spoke.wait(60)
    return keeper.account(), progress.said


def test_a_crashing_component_is_restarted_three_times(tmp_path: Path) -> None:
    lab = CrashingLab(tmp_path)
    account, said = _account(lab)
    reason = f"3 new starts of etcd ended unexpectedly; see {tmp_path / 'logs'}"
    assert lab.repairs == 3
    assert said == [reason]
    assert account == f"etcd of lab demo ended unexpectedly; {reason}"


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (MlclusterError("starting etcd", "no port is free", "Free a port."), "starting etcd: no port is free (Free a"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (psutil.AccessDenied(7), "pid=7"),
    ],
)
def test_a_failed_repair_is_reported_and_not_repeated(tmp_path: Path, failure: Exception, reason: str) -> None:
    lab = CrashingLab(tmp_path, failure)
    account, (said,) = _account(lab)
    assert lab.repairs == 1
    assert said.startswith("lab demo could not be repaired: ")
    assert reason in said
    assert account == f"etcd of lab demo ended unexpectedly; {said}"


def test_an_unreadable_lab_is_reported(tmp_path: Path) -> None:
    account, (said,) = _account(UnreadableLab(tmp_path))
    assert "Permission denied" in account
    assert account == said


def test_a_running_lab_is_not_reported(tmp_path: Path) -> None:
    with Keeper(Lab("demo", tmp_path), Silent()) as keeper:
        pass
    assert keeper.account() == ""
