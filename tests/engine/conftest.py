"""Fixtures of the engine tier: the real Pulumi CLI and a server in memory."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from xdist.remote import Producer

from mlcluster.engine.engine import Engine
from mlcluster.lab.toolchain.find import find_tool
from tests.fakes.in_memory_provider import World, serve
from tests.fakes.small_stack import SmallPlan, small_engine
from tests.scheduling import Groups

_CHANGES = "eks/test_eks_changes.py::test_"
GROUPS = Groups(
    parts={
        "the built-in provider": ("builtin_provider/",),
        "a cluster that is up": tuple(
            f"{_CHANGES}{name}"
            for name in (
                "every_change_of",
                "wrong_properties",
                "types_without",
                "a_change_that",
                "references_to_nothing",
            )
        ),
    },
    longest_first=("the built-in provider", "a cluster that is up"),
    by_file=False,
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the groups that take longest first: workers end at about the same time."""
    GROUPS.sort(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> object:
    """Keep tests that share a lab or a stack on one worker."""
    return GROUPS.scheduler(config, log)


@pytest.fixture(scope="session")
def pulumi() -> Path:
    """Return the engine: on PATH or in the toolchain's cache."""
    found = find_tool("pulumi")
    if found is None:
        pytest.fail("the engine tier needs the Pulumi CLI: put pulumi on PATH or build the toolchain of the lab")
    return found


@pytest.fixture
def world() -> World:
    """Return the server in memory behind the provider."""
    return World()


@pytest.fixture
def port(world: World) -> Iterator[int]:
    """Yield the port of the provider of `world`."""
    with serve(world) as port:
        yield port


@pytest.fixture
def engine_of(pulumi: Path, port: int, tmp_path: Path) -> Callable[[SmallPlan], Engine]:
    """Return a function that makes an engine for a plan; all of them share one stack in the test's directory."""
    return lambda plan: small_engine(tmp_path / "atlas", port, plan, pulumi)
