"""An interrupted `mlcluster lab build`: no process of it continues, and the next build succeeds."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from filelock import FileLock

from tests.child_processes import is_running
from tests.waiting import PATIENCE_SECONDS, wait_for

pytestmark = pytest.mark.lab

# As cmd/go does, it runs its compilers in its own process group and waits for them; an interrupt ends it only when the
# running compiler is through (cmd/go/internal/work/exec.go: workers stop, `wg.Wait()` does not).
HANGING = """
case "$1" in
  version) echo go version go1.26.8 linux/amd64;;
  mod) echo '{"Dir": "HERE/kueue"}';;
  build)
    trap : INT TERM HUP
    sh -c 'trap "" INT TERM HUP; echo $$ >> HERE/pids; sleep 600; sleep 600' compile &
    echo $$ >> HERE/pids
    wait; wait; wait; sleep 600;;
esac
"""
WORKING = """
case "$1" in
  version) echo go version go1.26.8 linux/amd64;;
  mod) echo '{"Dir": "HERE/kueue"}';;
  build) while [ "$1" != -o ]; do shift; done; echo built > "$2"; chmod 755 "$2";;
esac
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """Return a directory with PATH, caches and state of a user who has nothing but Go."""
    tools = tmp_path / "path"
    tools.mkdir()
    for name in ("sh", "sleep", "chmod", "du", "setpriv"):
        (tools / name).symlink_to(shutil.which(name) or name)
    chart = tmp_path / "kueue" / "charts" / "kueue"
    chart.mkdir(parents=True)
    (chart / "Chart.yaml").write_text("name: kueue")
    return tmp_path


def use(here: Path, go: str) -> None:
    program = here / "path" / "go"
    program.write_text("#!/bin/sh\n" + go.replace("HERE", str(here)))
    program.chmod(0o755)


def build(here: Path) -> "subprocess.Popen[str]":
    environment = {
        "PATH": str(here / "path"),
        "HOME": str(here),
        "MLCLUSTER_CACHE_DIR": str(here / "cache"),
        "MLCLUSTER_STATE_DIR": str(here / "state"),
    }
    return subprocess.Popen(
        [sys.executable, "-m", "mlcluster", "lab", "build"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
        cwd=Path(__file__).parents[2], start_new_session=True,
    )  # fmt: skip


def pids(here: Path) -> list[int]:
    file = here / "pids"
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def of_the_build(here: Path) -> list[str]:
    """Return command lines of processes that name the directory or were started in it."""
    found = []
    for one in psutil.process_iter(["pid", "cmdline", "cwd", "status"]):
        words = " ".join(one.info["cmdline"] or [])
        inside = str(here) in words or str(here) in (one.info["cwd"] or "")
        if inside and one.info["pid"] != os.getpid() and one.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(words)
    return found


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_a_build_that_is_ended_leaves_no_process_and_no_lock(here: Path, number: signal.Signals) -> None:
    use(here, HANGING)
    with build(here) as running:
        wait_for("the compiler", lambda: len(pids(here)) == 2)
        running.send_signal(number)
        said, _ = running.communicate(timeout=PATIENCE_SECONDS)
    wait_for("the end of all", lambda: not [pid for pid in pids(here) if is_running(pid)] and not of_the_build(here))
    if number is not signal.SIGKILL:
        assert "what is built so far stays; " in said.replace("\n", "; ")
        assert "Traceback" not in said
        assert running.returncode == 130
    (lock,) = (here / "cache" / "toolchain").glob("*/.lock")
    with FileLock(lock, timeout=0):
        pass
    use(here, WORKING)
    with build(here) as again:
        said, _ = again.communicate(timeout=PATIENCE_SECONDS)
    assert again.returncode == 0, said
    programs = lock.parent / "bin"
    assert not [path.name for path in programs.iterdir() if path.name.startswith(".")]
    assert {path.read_text() for path in programs.iterdir()} == {"built\n"}
