"""Ctrl-C and SIGTERM in the middle of an `up`: the engine ends cleanly and the next `up` continues."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from mlcluster.engine.engine import Engine
from tests.fakes.engine_process import EngineProcess, engine_process
from tests.fakes.in_memory_provider import World
from tests.fakes.small_stack import SmallPlan, small_plan

pytestmark = pytest.mark.engine
COUNT = 40


def _ctrl_c(running: EngineProcess) -> None:
    running.terminal_interrupt()


def _terminate(running: EngineProcess) -> None:
    running.process.send_signal(signal.SIGTERM)


def _hang_up(running: EngineProcess) -> None:
    running.process.send_signal(signal.SIGHUP)


@pytest.mark.parametrize("stop", [_ctrl_c, _terminate, _hang_up])
def test_the_first_signal_ends_cleanly_and_up_continues(
    stop: Callable[[EngineProcess], None],
    engine_of: Callable[[SmallPlan], Engine],
    world: World,
    port: int,
    pulumi: Path,
    tmp_path: Path,
) -> None:
    world.gate.close(after=4)
    with engine_process("up", tmp_path / "atlas", port, COUNT, pulumi) as running:
        running.wait_for("some creates", lambda: world.gate.held)
        stop(running)
        running.wait_for("the engine to take notice", world.cancelled.is_set)
        world.gate.open()
        code, lines = running.end()
    assert code == 130
    assert lines[-1]["error"] == "OperationInterruptedError"
    assert "Run the same command again" in lines[-1]["hint"]
    assert any("Stopping after" in line.get("told", "") for line in lines)
    assert len(world.objects) < COUNT
    assert lines[-1]["happened"] == f"interrupted after {len(world.objects)} finished changes"
    engine = engine_of(small_plan(COUNT))
    assert engine.lock() is None
    assert engine.pending() == []
    assert sorted(resource.plan_id for resource in engine.resources()) == sorted(world.objects)
    engine.up()
    assert len(world.objects) == COUNT + 1
    assert len(world.called("Create")) == COUNT + 1


def test_a_second_signal_ends_the_engine_at_once_and_up_adopts_pending_resources(
    engine_of: Callable[[SmallPlan], Engine], world: World, port: int, pulumi: Path, tmp_path: Path
) -> None:
    world.gate.close(after=0)
    world.upsert = False
    with engine_process("up", tmp_path / "atlas", port, 3, pulumi) as running:
        running.wait_for("the namespace", lambda: world.gate.held)
        running.process.send_signal(signal.SIGINT)
        running.wait_until_told("Stopping after")
        # two signals that come before a process gets to see the first one count as one
        running.wait_for("the engine to take notice", world.cancelled.is_set)
        running.process.send_signal(signal.SIGINT)
        code, lines = running.end()
    assert code == 130
    assert lines[-1]["error"] == "OperationInterruptedError"
    assert "not finished: Namespace/a" in lines[-1]["happened"]
    engine = engine_of(small_plan(3))
    assert [item.text for item in engine.pending()] == ["creating Namespace/a"]
    world.gate.open()
    engine.up()
    assert engine.pending() == []
    assert engine.lock() is None
    assert world.called("Create") == ["ConfigMap/a/0", "ConfigMap/a/1", "ConfigMap/a/2", "Namespace/a"]


def test_finished_operations_are_counted_if_resources_existed_before(
    engine_of: Callable[[SmallPlan], Engine], world: World, port: int, pulumi: Path, tmp_path: Path
) -> None:
    """Updates that follow a refresh count like creations."""
    engine_of(small_plan(6)).up()
    for index in range(6):
        world.objects[f"ConfigMap/a/{index}"]["data"] = {"changed": "by hand"}
    world.calls.clear()
    world.gate.close(after=4)
    with engine_process("up", tmp_path / "atlas", port, COUNT, pulumi) as running:
        running.wait_for("some changes", lambda: world.gate.held)
        running.terminal_interrupt()
        running.wait_for("the engine to take notice", world.cancelled.is_set)
        world.gate.open()
        code, lines = running.end()
    assert code == 130
    done = len(world.called("Create")) + len(world.called("Update"))
    assert lines[-1]["happened"] == f"interrupted after {done} finished changes"
