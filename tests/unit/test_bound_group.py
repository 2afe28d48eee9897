"""Programs that mlcluster waits for end with it, however it ends."""

import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from mlcluster.processes import bound_group, run_bound
from tests.child_processes import is_running

pytestmark = pytest.mark.unit

PARENT = """
import subprocess, sys
from mlcluster.processes import bound_group
with bound_group() as group:
    child = subprocess.Popen(["sh", "-c", "sleep 600 & echo $! $$; wait"], process_group=group)
    print(group, flush=True)
    child.wait()
"""
DEADLINE_SECONDS = 60


def all_end(pids: list[int]) -> bool:
    until = time.monotonic() + DEADLINE_SECONDS
    while any(map(is_running, pids)) and time.monotonic() < until:
        time.sleep(0.05)
    return not any(map(is_running, pids))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_programs_and_their_children_end_with_a_killed_parent(number: signal.Signals, project_root: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True, cwd=project_root
    ) as parent:
        assert parent.stdout is not None
        pids = [int(word) for _ in range(2) for word in parent.stdout.readline().split()]
        assert len(pids) == 3
        parent.send_signal(number)
    assert all_end(pids)


def test_an_exception_ends_the_group_at_once() -> None:
    with suppress(KeyboardInterrupt), bound_group() as group:
        child = subprocess.Popen(["sleep", "600"], process_group=group)
        raise KeyboardInterrupt
    assert child.wait(DEADLINE_SECONDS) == -signal.SIGKILL


def test_a_group_that_is_no_longer_needed_leaves_no_process() -> None:
    before = {found.pid for found in psutil.Process().children(recursive=True)}
    assert run_bound(["echo", "said"]).stdout == "said\n"
    assert {found.pid for found in psutil.Process().children(recursive=True)} <= before
