"""A `pulumi` on PATH that is a script around the real engine, as version managers install it: two processes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from mlcluster.engine import locks
from mlcluster.engine.engine import Engine
from mlcluster.errors import MlclusterError
from tests.fakes.engine_process import EngineProcess, engine_process
from tests.fakes.in_memory_provider import World
from tests.fakes.small_stack import SmallPlan, small_plan
from tests.waiting import wait_for

pytestmark = pytest.mark.engine
COUNT = 6
EngineOf = Callable[[SmallPlan], Engine]


PLAIN = '#!/bin/sh\n{pulumi} "$@"\ncode=$?\nexit $code\n'
WATCHED = """\
#!/bin/sh
{pulumi} "$@" &
engine=$!
(while kill -0 $engine; do sleep 0.2; done) &
wait $engine
"""
"""The shell makes a second process, which has the name of the script too: pulumi."""


def _script(folder: Path, text: str, pulumi: Path) -> Path:
    script = folder / "wrapped" / "pulumi"
    script.parent.mkdir()
    script.write_text(text.format(pulumi=pulumi))
    script.chmod(0o755)
    return script


@pytest.fixture
def wrapper(pulumi: Path, tmp_path: Path) -> Path:
    """Return a script that starts the engine as its child, without `exec`."""
    return _script(tmp_path, PLAIN, pulumi)


@dataclass(frozen=True)
class Held:
    """An `up` through a wrapper whose first creation is held back, and the lock of its engine."""

    running: EngineProcess
    engine: Engine
    lock: locks.Lock


@pytest.fixture
def held(wrapper: Path, engine_of: EngineOf, world: World, port: int, tmp_path: Path) -> Iterator[Held]:
    world.gate.close(after=0)
    with engine_process("up", tmp_path / "atlas", port, COUNT, wrapper) as running:
        running.wait_for("the namespace", lambda: world.gate.held)
        engine = engine_of(small_plan(COUNT))
        lock = engine.lock()
        assert lock is not None
        yield Held(running, engine, lock)


def test_an_engine_below_a_wrapper_is_no_orphan_while_mlcluster_lives(held: Held, world: World) -> None:
    assert psutil.Process(held.lock.pid).ppid() == held.running.engine().pid  # the script is between
    assert not locks.is_orphan(held.lock)
    assert locks.orphaned_engines(held.engine.home) == []
    with pytest.raises(MlclusterError, match="still running"):
        held.engine.up()
    world.gate.open()
    code, _ = held.running.end()
    assert code == 0
    assert len(world.objects) == COUNT + 1


def test_an_engine_below_a_wrapper_is_an_orphan_when_mlcluster_was_killed(held: Held, world: World) -> None:
    held.running.process.kill()
    held.running.process.wait()
    assert locks.is_orphan(held.lock) or not locks.is_alive(held.lock)  # it may have noticed already
    world.gate.open()
    held.engine.up()
    assert len(world.objects) == COUNT + 1
    assert held.engine.lock() is None


@pytest.mark.parametrize("text", [PLAIN, WATCHED])
def test_ctrl_c_reaches_the_engine_below_a_wrapper(
    text: str, pulumi: Path, engine_of: EngineOf, world: World, port: int, tmp_path: Path
) -> None:
    wrapper = _script(tmp_path, text, pulumi)
    world.gate.close(after=1)
    with engine_process("up", tmp_path / "atlas", port, COUNT, wrapper) as running:
        running.wait_for("some creates", lambda: world.gate.held)
        running.terminal_interrupt()
        wait_for("the engine to take notice", world.cancelled.is_set)
        world.gate.open()
        code, lines = running.end()
    assert code == 130
    assert lines[-1]["error"] == "OperationInterruptedError"
    assert engine_of(small_plan(COUNT)).lock() is None
