"""The run lock: one run per stack and machine, reported to the next one, and released with its process."""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mlcluster.engine.home import StackHome
from mlcluster.engine.run_lock import RunInProgressError, run_in_progress, run_lock, run_lock_path
from mlcluster.errors import MlclusterError

pytestmark = pytest.mark.unit

HOLD = """
import sys
from pathlib import Path
from mlcluster.engine.home import StackHome
from mlcluster.engine.run_lock import run_lock
sys.argv = ["mlcluster", "up", "my atlas.yaml"]
with run_lock(StackHome("atlas", Path(sys.stdin.readline().strip())), "up"):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def home(tmp_path: Path) -> StackHome:
    """Return an unused stack: not even its parent directory exists."""
    return StackHome("atlas", tmp_path / "stacks" / "atlas")


@contextmanager
def another_run(home: StackHome) -> Iterator[subprocess.Popen[str]]:
    """Start a process that holds the lock until it reads a line or is killed."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{home.root}\n")
        process.stdin.flush()
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def test_the_first_run_takes_the_lock_and_leaves_no_file(home: StackHome) -> None:
    with run_lock(home, "up") as protected:
        assert protected
        assert not home.root.exists()
    assert list(home.root.parent.iterdir()) == []


def test_a_second_run_names_the_holder(home: StackHome) -> None:
    with another_run(home) as first:
        for _ in range(3):
            with pytest.raises(RunInProgressError) as caught, run_lock(home, "down"):
                pytest.fail("two runs at once")
            assert caught.value.doing == "starting `down`"
            told = f"another run is in progress on atlas: `mlcluster up 'my atlas.yaml'`, pid {first.pid} of "
            assert caught.value.happened.startswith(told)
            assert caught.value.happened.endswith(" UTC")
            assert "Wait for it to end." in caught.value.hint
        holder = run_in_progress(home)
        assert holder is not None
        assert holder.pid == first.pid


def test_the_lock_ends_with_its_process(home: StackHome) -> None:
    with another_run(home) as first:
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
        assert run_lock_path(home).exists()
        assert run_in_progress(home) is None
        with run_lock(home, "up"):
            pass
    assert not run_lock_path(home).exists()


def test_the_lock_file_of_another_run_stays(home: StackHome) -> None:
    """A user deletes the lock file of a run that seems to hang, and starts another run."""
    with run_lock(home, "up"):
        run_lock_path(home).unlink()
        with another_run(home) as second:
            held = run_lock_path(home).stat().st_ino
    assert run_lock_path(home).stat().st_ino == held
    assert second.returncode == -signal.SIGKILL


def test_a_child_process_does_not_keep_the_lock(home: StackHome) -> None:
    with run_lock(home, "up"):
        child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    try:
        assert child.poll() is None
        with run_lock(home, "up"):
            assert run_lock_path(home).exists()
    finally:
        child.communicate()


def test_no_run_in_progress_without_a_state_directory(home: StackHome) -> None:
    assert run_in_progress(home) is None
    assert not home.root.parent.exists()


def test_the_home_can_be_deleted_while_the_lock_is_held(home: StackHome) -> None:
    home.root.mkdir(parents=True)
    with run_lock(home, "down"):
        home.forget()
        with pytest.raises(RunInProgressError), run_lock(home, "up"):
            pytest.fail("two runs at once")


def test_a_removed_lock_file_is_not_taken(home: StackHome, monkeypatch: pytest.MonkeyPatch) -> None:
    """The waiting run opens the file just before the holder removes it, so a lock on it has no effect."""
    opened: list[int] = []
    real = os.open

    def late(path: Path, flags: int, mode: int = 0o777) -> int:
        descriptor = real(path, flags, mode)
        if not opened:
            path.unlink()
        opened.append(descriptor)
        return descriptor

    monkeypatch.setattr("mlcluster.engine.run_lock.os.open", late)
    with run_lock(home, "up"):
        assert len(opened) == 2
        assert run_lock_path(home).exists()


@pytest.mark.parametrize("content", ["", "no JSON", '{"pid": 1}'])
def test_a_holder_without_a_name_still_holds_the_lock(home: StackHome, content: str) -> None:
    with another_run(home):
        run_lock_path(home).write_text(content)
        with pytest.raises(RunInProgressError, match="another command"), run_lock(home, "up", patience=0.0):
            pytest.fail("two runs at once")


@pytest.mark.parametrize(
    ("code", "told", "hint"),
    [
        (errno.ENOSPC, "No space left on device", "Free some space"),
        (errno.EROFS, "Read-only file system", "Choose a directory that you can write to"),
    ],
)
def test_an_unwritable_disk_is_an_error(
    home: StackHome, monkeypatch: pytest.MonkeyPatch, code: int, told: str, hint: str
) -> None:
    def refuse(*arguments: object) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("mlcluster.engine.run_lock.os.open", refuse)
    with pytest.raises(MlclusterError, match=told) as caught, run_lock(home, "up"):
        pytest.fail("not held")
    assert hint in caught.value.hint
    monkeypatch.undo()
    monkeypatch.setattr("mlcluster.engine.run_lock.os.pwrite", refuse)
    with pytest.raises(MlclusterError, match=told), run_lock(home, "up"):
        pytest.fail("not held")
    monkeypatch.undo()
    with run_lock(home, "up"):
        pass


def test_a_state_directory_that_is_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "stacks").write_text("")
    home = StackHome("atlas", tmp_path / "stacks" / "atlas")
    with pytest.raises(MlclusterError, match="preparing the stack's directory"), run_lock(home, "up"):
        pytest.fail("not held")


def test_on_a_file_system_without_locks_the_run_continues(home: StackHome, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("mlcluster.engine.run_lock.fcntl.flock", refuse)
    with run_lock(home, "up") as protected:
        assert not protected
    assert run_in_progress(home) is None
