"""After a SIGKILL at any moment the next `up` converges; locks are cleared only when their owner is provably dead."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest

from mlcluster.engine import locks, recovery
from mlcluster.engine.engine import Engine
from mlcluster.engine.locks import PARENT_VARIABLE
from mlcluster.errors import MlclusterError
from tests.fakes.engine_process import EngineProcess, engine_process
from tests.fakes.in_memory_provider import World
from tests.fakes.small_stack import SmallPlan, small_engine, small_plan

pytestmark = pytest.mark.engine
COUNT = 20
EVERYTHING = ["Namespace/a", *(f"ConfigMap/a/{index}" for index in range(COUNT))]
EngineOf = Callable[[SmallPlan], Engine]


def _kill_engine(running: EngineProcess) -> None:
    running.engine().kill()


def _kill_us(running: EngineProcess) -> None:
    running.process.kill()


def _kill_both(running: EngineProcess) -> None:
    engine = running.engine()
    running.process.kill()
    engine.kill()


KILLS = [(kill, after) for kill in (_kill_engine, _kill_us, _kill_both) for after in (1, 2, 12)]
ALWAYS = [(_kill_engine, 12), (_kill_us, 2), (_kill_both, 1)]
"""Each kind of kill and each moment once; `make soak` runs all of them."""


@pytest.mark.parametrize(
    ("kill", "after"), [pytest.param(*each, marks=[] if each in ALWAYS else [pytest.mark.soak]) for each in KILLS]
)
def test_up_converges_after_a_kill(
    kill: Callable[[EngineProcess], None],
    after: int,
    engine_of: EngineOf,
    world: World,
    port: int,
    pulumi: Path,
    tmp_path: Path,
) -> None:
    world.upsert = False
    world.gate.close(after=after - 1)
    with engine_process("up", tmp_path / "atlas", port, COUNT, pulumi) as running:
        running.wait_for("some objects", lambda: len(world.objects) >= after)
        kill(running)
        world.gate.open()
        running.process.wait()
    engine = engine_of(small_plan(COUNT))
    engine.up()
    assert sorted(world.objects) == sorted(EVERYTHING)
    assert sorted(resource.plan_id for resource in engine.resources()) == sorted(EVERYTHING)
    assert engine.lock() is None
    assert engine.pending() == []
    assert not engine.up().changes
    engine.destroy()
    assert world.objects == {}


def test_the_parent_process_reports_a_killed_engine(world: World, port: int, pulumi: Path, tmp_path: Path) -> None:
    world.gate.close(after=0)
    with engine_process("up", tmp_path / "atlas", port, COUNT, pulumi) as running:
        running.wait_for("the namespace", lambda: world.gate.held)
        running.engine().kill()
        code, lines = running.end()
    assert code == 1
    assert "killed (exit -9)" in lines[-1]["happened"]


def test_destroy_after_a_kill_leaves_nothing(
    engine_of: EngineOf, world: World, port: int, pulumi: Path, tmp_path: Path
) -> None:
    world.gate.close(after=4)
    with engine_process("up", tmp_path / "atlas", port, COUNT, pulumi) as running:
        running.wait_for("some objects", lambda: world.gate.held)
        _kill_both(running)
    world.gate.open()
    engine = engine_of(small_plan(COUNT))
    assert engine.pending()
    engine.destroy()
    assert world.objects == {}
    assert engine.is_empty()


def test_an_object_of_another_owner_is_not_adopted(
    engine_of: EngineOf, world: World, port: int, pulumi: Path, tmp_path: Path
) -> None:
    world.gate.close(after=0)
    with engine_process("up", tmp_path / "atlas", port, 0, pulumi) as running:
        running.wait_for("the namespace", lambda: world.gate.held)
        _kill_both(running)
    world.gate.open()
    world.objects["Namespace/a"]["metadata"]["labels"] = {"app.kubernetes.io/managed-by": "somebody"}
    world.upsert = False
    engine = engine_of(small_plan(0))
    with pytest.raises(MlclusterError, match="already exists"):
        engine.up()
    engine.destroy()
    assert list(world.objects) == ["Namespace/a"]


def test_the_second_of_two_runs_names_the_holder_of_the_lock(
    engine_of: EngineOf, world: World, port: int, pulumi: Path, tmp_path: Path
) -> None:
    world.gate.close(after=0)
    with engine_process("up", tmp_path / "atlas", port, COUNT, pulumi) as running:
        running.wait_for("the namespace", lambda: world.gate.held)
        holder = engine_of(small_plan(COUNT)).lock()
        assert holder is not None
        assert holder.pid == running.engine().pid
        for refused in (engine_of(small_plan(COUNT)).up, engine_of(small_plan(COUNT)).unlock):
            with pytest.raises(MlclusterError) as caught:
                refused()
            assert f"pid {holder.pid}" in caught.value.happened
            assert "still running" in caught.value.happened
        world.gate.open()
        code, _ = running.end()
    assert code == 0
    assert len(world.objects) == COUNT + 1


def _leave_lock(engine: Engine, **fields: object) -> Path:
    directory = engine.home.root / "state/.pulumi/locks/organization" / engine.project / engine.home.name
    directory.mkdir(parents=True, exist_ok=True)
    lock = {"pid": 2**22 - 3, "username": "jo", "hostname": socket.gethostname(), "timestamp": "2026-01-02T03:04:05Z"}
    path = directory / "0000.json"
    path.write_text(json.dumps(lock | fields))
    return path


def test_up_removes_the_lock_of_a_dead_process_of_this_host_and_reports_it(
    pulumi: Path, port: int, tmp_path: Path, world: World
) -> None:
    told: list[str] = []
    engine = small_engine(tmp_path / "atlas", port, small_plan(1), pulumi, told=told)
    path = _leave_lock(engine)
    engine.up()
    assert not path.exists()
    assert len(world.objects) == 2
    assert any("jo@" in text and "no longer running" in text for text in told)


def test_up_waits_for_an_engine_whose_mlcluster_was_killed(
    pulumi: Path, port: int, tmp_path: Path, world: World
) -> None:
    """Uses a substitute process, because the engine itself ends at any time after the process that reads its output."""
    told: list[str] = []
    engine = small_engine(tmp_path / "atlas", port, small_plan(1), pulumi)
    argv = [sys.executable, "-c", "import sys; sys.stdin.read()", "pulumi"]
    ours = {**os.environ, PARENT_VARIABLE: str(2**22 - 3)}  # no such process
    with subprocess.Popen(argv, env=ours, stdin=subprocess.PIPE) as orphan:

        def hear(text: str) -> None:
            told.append(text)
            orphan.communicate()  # it ends

        engine.tell = hear
        _leave_lock(engine, pid=orphan.pid, timestamp=datetime.now(UTC).isoformat())
        engine.up()
    assert told[0] == "Waiting for the engine of a killed run to end."
    assert told[1].startswith(f"Removed the lock of pid {orphan.pid} ")
    assert len(world.objects) == 2


def test_up_ends_an_engine_of_a_killed_run_that_waits_for_something(
    engine_of: EngineOf, world: World, port: int, pulumi: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its operation does not end, so neither does the engine; nothing else holds the stack."""
    monkeypatch.setattr(recovery, "ORPHAN_SECONDS", 1.0)
    world.gate.close(after=0)
    with engine_process("up", tmp_path / "atlas", port, 1, pulumi) as running:
        running.wait_for("the namespace", lambda: world.gate.held)
        orphan = running.engine()
        running.process.kill()
        running.process.wait()
        engine = engine_of(small_plan(1))
        assert locks.orphaned_engines(engine.home) in ([orphan.pid], [])  # it may have noticed already
        engine.recover_if_owner_dead()
        assert not orphan.is_running() or orphan.status() == psutil.STATUS_ZOMBIE
        world.gate.open()
    engine.up()
    assert len(world.objects) == 2


def test_a_reused_pid_counts_as_a_dead_holder(engine_of: EngineOf) -> None:
    engine = engine_of(small_plan(1))
    path = _leave_lock(engine, pid=os.getpid())  # this process began long after the lock
    assert engine.unlock().owners
    assert not path.exists()


def test_a_lock_of_another_host_needs_confirmation(engine_of: EngineOf) -> None:
    engine = engine_of(small_plan(1))
    path = _leave_lock(engine, hostname="build-7")
    for refused in (engine.up, engine.unlock):
        with pytest.raises(MlclusterError, match="build-7"):
            refused()
    assert path.exists()
    assert engine.unlock(assume_dead=True).owners
    engine.up()


def test_a_wrong_passphrase_has_its_own_message(engine_of: EngineOf) -> None:
    engine_of(small_plan(1)).up()
    engine = engine_of(small_plan(1))
    (engine.home.root / "passphrase").write_text("another\n")
    with pytest.raises(MlclusterError, match="passphrase is not the one"):
        engine.up()


def test_a_damaged_state_has_its_own_message(engine_of: EngineOf) -> None:
    engine_of(small_plan(1)).up()
    engine = engine_of(small_plan(1))
    checkpoint = engine.home.checkpoint(engine.project)
    assert checkpoint is not None
    checkpoint.write_text(checkpoint.read_text()[:300])
    with pytest.raises(MlclusterError, match="damaged"):
        engine.up()


def test_a_file_that_a_kill_cut_off_is_mended_by_every_verb(engine_of: EngineOf) -> None:
    engine_of(small_plan(1)).up()
    for verb in ("preview", "outputs", "drift", "up", "destroy"):
        engine = engine_of(small_plan(1))
        checkpoint = engine.home.checkpoint(engine.project)
        assert checkpoint is not None
        beside = checkpoint.with_name(f"{checkpoint.name}.attrs")
        assert beside.exists() or verb != "preview"
        beside.write_text("")
        getattr(engine, verb)()
        assert not beside.exists() or beside.read_text(), verb


def test_a_state_that_a_kill_truncated_is_restored_from_its_backup(engine_of: EngineOf, world: World) -> None:
    engine = engine_of(small_plan(3))
    engine.up()
    checkpoint = engine.home.checkpoint(engine.project)
    assert checkpoint is not None
    checkpoint.write_text(checkpoint.read_text()[:300])
    _leave_lock(engine)
    engine_of(small_plan(3)).up()
    assert len(world.objects) == 4
    assert len(engine.resources()) == 4


def test_a_state_caught_half_written_is_read_again_once(pulumi: Path, port: int, tmp_path: Path, world: World) -> None:
    marker, racing = tmp_path / "raced", tmp_path / "pulumi"
    racing.write_text(
        "#!/bin/sh\n"
        f'if [ "$2" = up ] && [ ! -e {marker} ]; then\n'
        f"  touch {marker}; echo 'error: failed to load checkpoint: EOF' >&2; exit 255\n"
        "fi\n"
        f'exec {pulumi} "$@"\n'
    )
    racing.chmod(0o755)
    small_engine(tmp_path / "atlas", port, small_plan(1), racing).up()
    assert marker.exists()
    assert len(world.objects) == 2


def test_a_missing_or_wrong_engine_has_its_own_message(port: int, tmp_path: Path) -> None:
    with pytest.raises(MlclusterError, match="there is no engine at"):
        small_engine(tmp_path / "atlas", port, small_plan(1), tmp_path / "absent").up()
    none = tmp_path / "pulumi"
    none.write_text("#!/bin/sh\nexit 3\n")
    none.chmod(0o755)
    with pytest.raises(MlclusterError, match="does not print its version"):
        small_engine(tmp_path / "atlas", port, small_plan(1), none).up()


def test_a_missing_backend_has_its_own_message(
    engine_of: EngineOf, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MLCLUSTER_BACKEND_URL", f"file://{tmp_path}/absent")
    with pytest.raises(MlclusterError, match="backend cannot be reached"):
        engine_of(small_plan(1)).preview()


def test_the_passphrase_of_the_caller_wins_in_a_backend_of_his(
    engine_of: EngineOf, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, world: World
) -> None:
    (tmp_path / "shared").mkdir()
    monkeypatch.setenv("MLCLUSTER_BACKEND_URL", f"file://{tmp_path}/shared")
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "correct horse")
    engine = engine_of(small_plan(1))
    engine.up()
    assert not (engine.home.root / "passphrase").exists()
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "battery staple")
    with pytest.raises(MlclusterError, match="passphrase is not the one") as caught:
        engine_of(small_plan(1)).up()
    assert "battery" not in str(caught.value)
