"""Processes by pid and start time, on real children."""

import dataclasses
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mlcluster.errors import MlclusterError
from mlcluster.lab import process
from mlcluster.lab.failures import NotReady, PortTaken, StartFailed
from mlcluster.lab.lab_state import wait_until
from mlcluster.lab.ports import LOOPBACK, Ports, free_ports
from mlcluster.lab.process import Process
from mlcluster.waiting import wait_while

pytestmark = pytest.mark.unit

SLEEP = (sys.executable, "-c", "import time; time.sleep(600)")


@pytest.fixture
def spawn(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    started: list[Process] = []

    def start(*argv: str) -> Process:
        started.append(process.spawn("child", argv or SLEEP, tmp_path / "child.log", tmp_path))
        return started[-1]

    yield start
    for child in started:
        process.stop(child, grace=0)


def gone(child: Process) -> int:
    while (code := process.exit_code(child)) is None:
        time.sleep(0.01)
    return code


def test_a_child_runs_until_it_is_stopped(spawn: Callable[..., Process]) -> None:
    child = spawn()
    assert process.alive(child)
    assert process.stop(child) is False
    assert not process.alive(child)
    assert process.exit_code(child) == -signal.SIGTERM


def test_memory_is_in_mib() -> None:
    ourselves = Process("test", os.getpid(), 0, (), Path("log"))
    assert 5 < process.memory_mib(ourselves) < 5000


def test_stopping_an_ended_process_is_no_error(spawn: Callable[..., Process]) -> None:
    child = spawn()
    process.stop(child)
    assert process.stop(child) is False
    assert process.memory_mib(child) == 0


def test_a_process_that_ignores_sigterm_is_killed(spawn: Callable[..., Process], tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    deaf = "import signal, time, pathlib; signal.signal(15, signal.SIG_IGN)"
    child = spawn(sys.executable, "-c", f"{deaf}; pathlib.Path({str(ready)!r}).touch(); time.sleep(600)")
    while not ready.exists():
        time.sleep(0.01)
    assert process.stop(child, grace=0.1) is True
    assert not process.alive(child)


def test_a_zombie_does_not_run(spawn: Callable[..., Process]) -> None:
    child = spawn()
    os.kill(child.pid, signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # dead, but not yet reaped
    assert not process.alive(child)


def test_a_reused_pid_gets_no_signal(spawn: Callable[..., Process]) -> None:
    child = spawn()
    stranger = dataclasses.replace(child, created=child.created - 100, argv=("other",))
    assert not process.alive(stranger)
    assert process.stop(stranger) is False
    assert process.alive(child)


def test_a_process_is_found_after_a_clock_change(spawn: Callable[..., Process]) -> None:
    child = spawn(*SLEEP)
    while not process.alive(dataclasses.replace(child, created=child.created - 100)):
        time.sleep(0.01)  # the shell becomes the program
    assert process.alive(child)


def test_output_and_exit_code_are_kept(spawn: Callable[..., Process], tmp_path: Path) -> None:
    child = spawn("/bin/sh", "-c", "echo one; echo two >&2; exit 7")
    assert gone(child) == 7
    assert process.exit_code(child) == 7  # the kernel returns it once, `exit_code` repeatedly
    assert process.last_lines(tmp_path / "child.log") == "one\ntwo"


def test_secrets_of_the_caller_do_not_reach_a_child(
    spawn: Callable[..., Process], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "open sesame")
    monkeypatch.setenv("ETCD_LISTEN_CLIENT_URLS", "http://example")
    gone(spawn("/usr/bin/env"))
    assert "sesame" not in process.last_lines(tmp_path / "child.log", 100)
    assert "ETCD" not in process.last_lines(tmp_path / "child.log", 100)


def test_a_missing_program_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(MlclusterError, match="is missing or not executable"):
        process.spawn("etcd", [str(tmp_path / "etcd")], tmp_path / "log", tmp_path)


def test_last_lines_reads_only_the_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("".join(f"line {number}\n" for number in range(100_000)))
    assert process.last_lines(log, 2) == "line 99998\nline 99999"
    assert process.last_lines(tmp_path / "none") == ""


def test_strays_are_found_by_name_and_directory(spawn: Callable[..., Process], tmp_path: Path) -> None:
    link = tmp_path / "kwok"
    link.symlink_to("/bin/sh")
    os.mkfifo(tmp_path / "never")
    # The shell waits in a system call of its own: a child would have its command line for a moment.
    child = spawn(str(link), "-c", f"read line < {tmp_path}/never", f"--config={tmp_path}/lab/kwok.yaml")

    def pids() -> list[int]:
        return [stray.pid for stray in process.strays(tmp_path / "lab", ["kwok"])]

    wait_while(lambda: not pids(), 30, pause=0.01)  # the child of the test executes the shell first
    assert pids() == [child.pid]
    assert process.strays(tmp_path / "la", ["kwok"]) == []
    assert process.strays(tmp_path / "lab", ["etcd"]) == []
    os.killpg(child.pid, signal.SIGKILL)


def test_a_wait_ends_when_the_child_is_ready(spawn: Callable[..., Process]) -> None:
    answers = iter(["no", "not yet", ""])
    wait_until(lambda: next(answers), spawn(), 30)
    assert next(answers, "asked no more") == "asked no more"


def test_a_wait_reports_why_a_child_ended(spawn: Callable[..., Process]) -> None:
    child = spawn("/bin/sh", "-c", "echo unknown flag; exit 3")
    with pytest.raises(StartFailed, match="unknown flag") as caught:
        wait_until(lambda: "no answer", child, 30)
    assert (caught.value.code, caught.value.component) == (3, "child")
    assert not isinstance(caught.value, PortTaken)


def test_a_wait_reports_a_taken_port(spawn: Callable[..., Process]) -> None:
    child = spawn("/bin/sh", "-c", "echo 'listen tcp 127.0.0.1:1: bind: address already in use'; exit 1")
    with pytest.raises(PortTaken):
        wait_until(lambda: "no answer", child, 30)


def test_a_wait_has_a_time_limit(spawn: Callable[..., Process]) -> None:
    with pytest.raises(NotReady, match="HTTP 500 etcd"):
        wait_until(lambda: "HTTP 500 etcd", spawn(), 0)


def test_free_ports_are_different_and_not_taken() -> None:
    with socket.socket() as taken:
        taken.bind((LOOPBACK, free_ports(1)[0]))
        port = taken.getsockname()[1]
        found = free_ports(200)
    assert len(set(found)) == 200
    assert port not in found
    assert max(found) < 32768  # where ports for outgoing connections begin
    assert len(set(vars(Ports.free()).values())) == 5
