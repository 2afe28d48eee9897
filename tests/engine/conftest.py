"""What every test of the engine tier needs: the real Pulumi CLI and a server in memory."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mlcluster.engine.engine import Engine
from mlcluster.lab.toolchain.find import find_tool
from tests.fakes.in_memory_provider import World, serve
from tests.fakes.small_stack import SmallPlan, small_engine


@pytest.fixture(scope="session")
def pulumi() -> Path:
    """The engine: on PATH or in the toolchain's cache."""
    found = find_tool("pulumi")
    if found is None:
        pytest.fail("the engine tier needs the Pulumi CLI: put pulumi on PATH or build the toolchain of the lab")
    return found


@pytest.fixture
def world() -> World:
    """The server that the provider pretends to talk to."""
    return World()


@pytest.fixture
def port(world: World) -> Iterator[int]:
    """Where the provider of `world` listens."""
    with serve(world) as port:
        yield port


@pytest.fixture
def engine_of(pulumi: Path, port: int, tmp_path: Path) -> Callable[[SmallPlan], Engine]:
    """Makes an engine for a plan; all of them share one stack in the test's directory."""
    return lambda plan: small_engine(tmp_path / "atlas", port, plan, pulumi)
